"""Checks a server against the protocol, and plays one to a client. `python -m tvls.protocol.conformance --help`.

It reads `protocol/` of a checkout: fixtures and transcripts are not part of the installed package.
"""
