"""The subcommands of `tvls`, one file each."""
