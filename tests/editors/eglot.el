;;; eglot.el --- The flow of docs/editors/emacs-eglot.md, in Emacs without a window  -*- lexical-binding: t -*-

;; emacs -Q --batch -l eglot.el.  The environment has MODEL (a file), PYTHON, TVLS (the command of the server) and URL
;; (a file that gets the address of the page).  A page clicks on an operation of line 8 when it has the address.

(require 'eglot)
(require 'cl-lib)
(setq eglot-sync-connect 60 eglot-connect-timeout 60 eglot-autoshutdown t inhibit-message nil
      eglot-confirm-server-edits nil jsonrpc-default-request-timeout 120)
(setq-default eglot-workspace-configuration nil)

(defvar test-asked nil "Questions of the server.")
(defvar test-told nil "Messages of the server.")
(defvar test-url nil "What a browser was asked to show.")

(defun test-until (what predicate)
  "Wait for PREDICATE; fail with WHAT."
  (let ((end (+ (float-time) 120)) value)
    (while (and (not (setq value (funcall predicate))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or value (error "Waited in vain for %s; told: %S" what test-told))))

(defun test-say (format &rest arguments)
  (message "tvls: %s" (apply #'format format arguments)))

(advice-add 'completing-read :override
            (lambda (prompt collection &rest _)
              (push prompt test-asked)
              (car (member "Trust folder" collection))))
(advice-add 'eglot--message :before (lambda (format &rest arguments) (push (apply #'format format arguments) test-told)))
(setq browse-url-browser-function (lambda (url &rest _) (setq test-url url)))

;; What a person writes into their configuration.
(add-to-list 'eglot-server-programs
             `((python-mode python-ts-mode)
               . ,(append (split-string (getenv "TVLS"))
                          `(:initializationOptions (:interpreter ,(getenv "PYTHON"))))))

(defun test-actions (kind)
  "The code actions of KIND at the beginning of line 6."
  (goto-char (point-min))
  (forward-line 5)
  (eglot-code-actions (point) (point) kind nil))

(condition-case failure
    (progn
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
        (cl-assert (= 1 (length test-asked)))
        (cl-assert (string-match-p "Do you trust this folder" (car test-asked)))
        (test-say "question: %s" (car (split-string (substring-no-properties (car test-asked)) "\n")))
        (test-say "browser: %s" (replace-regexp-in-string "[0-9]+/graph/.*" "PORT/graph/…" test-url))

        ;; Eldoc on a variable.
        (goto-char (point-min))
        (forward-line 6)
        (search-forward "y =")
        (backward-char 3)
        (let (hover)
          (eglot-hover-eldoc-function (lambda (text &rest _) (setq hover (substring-no-properties text))))
          (test-until "the hover" (lambda () hover))
          (cl-assert (string-match-p (regexp-quote "float32[2, 4]") hover))
          (test-say "hover: %s" (car (split-string hover "\n"))))

        ;; An operation that is clicked in the page.
        (goto-char (point-min))
        (with-temp-file (getenv "URL") (insert test-url))
        (test-until "the click" (lambda () (with-current-buffer (get-file-buffer (getenv "MODEL")) (= 8 (line-number-at-pos)))))
        (test-say "go to source: line 8")

        ;; A model that fails: the diagnostic is where it failed.
        (with-current-buffer (get-file-buffer (getenv "MODEL"))
          (goto-char (point-min))
          (search-forward "(3, 4)")
          (replace-match "(5, 4)")
          (save-buffer)
          (condition-case refused
              (eglot-execute server (car (test-actions "source.tvls.refresh")))
            (jsonrpc-error (test-say "refused: %s" (cdr (assq 'jsonrpc-error-message (cdr refused))))))
          (flymake-mode 1)
          (let ((found (test-until "the diagnostic" (lambda () (flymake-start) (flymake-diagnostics)))))
            (cl-assert (= 7 (line-number-at-pos (flymake-diagnostic-beg (car found)))))
            (test-say "diagnostic: line 7: %s" (car (split-string (flymake-diagnostic-text (car found)) "\n"))))
          (set-buffer-modified-p nil))
        (eglot-shutdown server))
      (test-say "passed with Emacs %s" emacs-version))
  (error (test-say "failed: %S" failure) (kill-emacs 1)))
