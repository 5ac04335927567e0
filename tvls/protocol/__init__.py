"""The `tvls/*` protocol: types, errors and one registry, from which schema and client types are generated."""
