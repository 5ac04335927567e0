;;; lsp-mode.el --- The flow of docs/editors/emacs-lsp-mode.md, in Emacs without a window  -*- lexical-binding: t -*-

;; emacs -Q --batch -l flow.el -L … -l tests/editors/lsp-mode.el.  The environment is that of eglot.el.

(require 'seq)
(require 'lsp-mode)
(require 'lsp-lens)
(require 'lsp-modeline)
(setq lsp-session-file (expand-file-name "session" (getenv "XDG_CACHE_HOME"))
      lsp-client-packages nil lsp-enabled-clients '(tvls) lsp-auto-guess-root t lsp-restart 'ignore
      lsp-diagnostics-provider :flymake lsp-enable-snippet nil lsp-headerline-breadcrumb-enable nil)
(dolist (tell '(lsp--info lsp--warn lsp--error lsp--window-show-message))
  (advice-add tell :before (lambda (&rest arguments) (push (format "%S" arguments) test-told))))

;; What a person writes into their configuration.
(setq lsp-response-timeout 120)
(lsp-register-client
 (make-lsp-client :new-connection (lsp-stdio-connection (split-string (getenv "TVLS")))
                  :activation-fn (lsp-activate-on "python" "toml")
                  :add-on? t
                  :initialization-options (lambda () (list :interpreter (getenv "PYTHON")))
                  :server-id 'tvls))

(defun test-actions (kind)
  "The code actions of KIND at the model."
  (test-line 6)
  (lsp-code-actions-at-point kind))

(defun test-address ()
  "Of the page: what the browser was asked to show, else what stands in a message."
  (or test-url
      (seq-some (lambda (told) (and (string-match "http://[0-9.:]+/graph/[^\" \\\\]+" told) (match-string 0 told)))
                test-told)))

(test-flow
 (find-file (getenv "MODEL"))
 (lsp)
 (test-until "the connection"
             (lambda () (seq-some (lambda (it) (eq 'initialized (lsp--workspace-status it))) (lsp-workspaces))))
 (test-say "connected: lsp-mode %s"
           (with-temp-buffer (insert-file-contents (concat (file-name-sans-extension (locate-library "lsp-mode")) ".el"))
                             (re-search-forward "^;; \\(?:Package-\\)?Version: *\\(.*\\)") (match-string 1)))

 ;; Lenses are asked for when the file is opened; M-x lsp-execute-code-action on the model, and the question of trust.
 (let ((titles (seq-map (lambda (lens) (lsp-get (lsp-get lens :command) :title))
                        (lsp-request "textDocument/codeLens" (list :textDocument (lsp--text-document-identifier)))))
       (actions (test-actions "source")))
   (test-say "lenses: %s" (mapconcat #'identity titles ", "))
   (test-say "code actions: %s" (mapconcat (lambda (action) (lsp-get action :title)) actions ", "))
   (lsp-execute-code-action (seq-first actions)))
 (let ((address (test-until "the page" #'test-address)))
   (test-trust)
   (test-say "%s: %s" (if test-url "browser" "message") (replace-regexp-in-string "[0-9]+/graph/.*" "PORT/graph/…" address))
   (setq test-url address))

 (test-line 7 "y =")
 (lsp-describe-thing-at-point)
 (test-hover (with-current-buffer "*lsp-help*" (string-trim (buffer-substring-no-properties (point-min) (point-max)))))

 ;; An operation that is clicked in the page.
 (set-buffer (get-file-buffer (getenv "MODEL")))
 (test-click)

 ;; A model that fails: the diagnostic is where it failed.
 (set-buffer (get-file-buffer (getenv "MODEL")))
 (test-break)
 (condition-case refused
     (lsp-execute-code-action (seq-first (test-actions "source.tvls.refresh")))
   (error (push (error-message-string refused) test-told)))  ; since 9; before, it is a message
 (cl-assert (seq-some (lambda (told) (string-match-p "while tracing it at model.py:7" told)) test-told))
 (let* ((found (test-until "the diagnostic" (lambda () (gethash (lsp--fix-path-casing (getenv "MODEL")) (lsp-diagnostics t)))))
        (first (seq-first found)))
   (test-diagnostic first (1+ (lsp-get (lsp-get (lsp-get first :range) :start) :line)) (lsp-get first :message)))
 (set-buffer-modified-p nil)
 (lsp-workspace-shutdown (seq-first (lsp-workspaces))))
