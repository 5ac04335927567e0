"""The canonical capture: its document, its canonical encoding and its limits.

Standard library only and valid on Python 3.10: the worker shares this package inside the user's interpreter.
"""
