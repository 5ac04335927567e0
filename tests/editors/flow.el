;;; flow.el --- What the tests in Emacs share  -*- lexical-binding: t -*-

(require 'cl-lib)
(setq inhibit-message nil)

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

(defmacro test-flow (&rest body)
  "Run BODY; Emacs ends with 1 where it fails."
  `(condition-case failure
       (progn ,@body (test-say "passed with Emacs %s" emacs-version))
     (error (test-say "failed: %S" failure) (kill-emacs 1))))

(advice-add 'completing-read :override
            (lambda (prompt collection &rest _)
              (push prompt test-asked)
              (car (member "Trust folder" collection))))
(setq browse-url-browser-function (lambda (url &rest _) (setq test-url url)))

(defun test-line (line &optional text)
  "Go to LINE, counted from 1, or to the beginning of TEXT in it."
  (goto-char (point-min))
  (forward-line (1- line))
  (when text
    (search-forward text (line-end-position))
    (goto-char (match-beginning 0))))

(defun test-trust ()
  "One question was asked, and it is that of trust."
  (cl-assert (= 1 (length test-asked)))
  (cl-assert (string-match-p "Do you trust this folder" (car test-asked)))
  (test-say "question: %s" (car (split-string (substring-no-properties (car test-asked)) "\n"))))

(defun test-hover (text)
  "TEXT is what a hover says of the product."
  (cl-assert (string-match-p (regexp-quote "float32[2, 4]") text) t)
  (test-say "hover: %s" (car (split-string text "\n"))))

(defun test-click ()
  "Have the page of `test-url' click on an operation of line 8. Emacs goes there, unless it told the server that it does not."
  (goto-char (point-min))
  (with-temp-file (getenv "URL") (insert test-url))
  (let* ((file (expand-file-name "clicked" (file-name-directory (getenv "URL"))))
         (shown (test-until "the click" (lambda () (and (file-exists-p file)
                                                        (with-temp-buffer (insert-file-contents file)
                                                                          (and (> (buffer-size) 0) (buffer-string))))))))
    (when (string= shown "shown")
      (test-until "the line"
                  (lambda () (with-current-buffer (get-file-buffer (getenv "MODEL")) (= 8 (line-number-at-pos))))))
    (test-say "go to source: %s" (if (string= shown "shown") "line 8" "the page names the place"))))

(defun test-break ()
  "Save the model so that its tracing fails at line 7."
  (goto-char (point-min))
  (search-forward "(3, 4)")
  (replace-match "(5, 4)")
  (save-buffer))

(defun test-diagnostic (found line text)
  "FOUND is a diagnostic of LINE that says TEXT."
  (cl-assert found)
  (cl-assert (= 7 line))
  (test-say "diagnostic: line %d: %s" line (car (split-string text "\n"))))

(provide 'flow)
