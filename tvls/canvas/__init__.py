"""The canvas in a browser: the built page, and the host that serves it on this machine alone."""
