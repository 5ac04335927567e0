;;; eglot.el --- The flow of docs/editors/emacs-eglot.md, in Emacs without a window  -*- lexical-binding: t -*-

;; emacs -Q --batch -l flow.el -l eglot.el.  The environment has MODEL (a file), PYTHON, TVLS (the command of the server)
;; and URL (a file that gets the address of the page).

(require 'eglot)
(setq eglot-sync-connect 60 eglot-connect-timeout 60 eglot-autoshutdown t
      eglot-confirm-server-edits nil jsonrpc-default-request-timeout 120)
(setq-default eglot-workspace-configuration nil)
(advice-add 'eglot--message :before (lambda (format &rest arguments) (push (apply #'format format arguments) test-told)))

;; What a person writes into their configuration.
(add-to-list 'eglot-server-programs
             `((python-mode python-ts-mode)
               . ,(append (split-string (getenv "TVLS"))
                          `(:initializationOptions (:interpreter ,(getenv "PYTHON"))))))

(defun test-actions (kind)
  "The code actions of KIND at the model."
  (test-line 6)
  (eglot-code-actions (point) (point) kind nil))

(test-flow
 (find-file (getenv "MODEL"))
 (apply #'eglot (eglot--guess-contact))
 (let ((server (test-until "the connection" #'eglot-current-server)))
   (test-say "connected: %s, encoding %s" (plist-get (eglot--server-info server) :name)
             (plist-get (eglot--capabilities server) :positionEncoding))

   ;; M-x eglot-code-actions on the model, and the question of trust.
   (let ((actions (test-actions "source")))
     (test-say "code actions: %s" (mapconcat (lambda (action) (plist-get action :title)) actions ", "))
     (eglot-execute server (car actions)))
   (test-until "the page" (lambda () test-url))
   (test-trust)
   (test-say "browser: %s" (replace-regexp-in-string "[0-9]+/graph/.*" "PORT/graph/…" test-url))

   ;; Eldoc on a variable.
   (test-line 7 "y =")
   (let (hover)
     (eglot-hover-eldoc-function (lambda (text &rest _) (setq hover (substring-no-properties text))))
     (test-hover (test-until "the hover" (lambda () hover))))

   ;; An operation that is clicked in the page.
   (test-click)

   ;; A model that fails: the diagnostic is where it failed.
   (with-current-buffer (get-file-buffer (getenv "MODEL"))
     (test-break)
     (condition-case refused
         (eglot-execute server (car (test-actions "source.tvls.refresh")))
       (jsonrpc-error (test-say "refused: %s" (cdr (assq 'jsonrpc-error-message (cdr refused))))))
     (flymake-mode 1)
     (let ((found (car (test-until "the diagnostic" (lambda () (flymake-start) (flymake-diagnostics))))))
       (test-diagnostic found (line-number-at-pos (flymake-diagnostic-beg found)) (flymake-diagnostic-text found)))
     (set-buffer-modified-p nil))
   (eglot-shutdown server)))
