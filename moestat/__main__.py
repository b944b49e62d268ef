"""``python -m moestat``: see :mod:`moestat.cli`."""

from moestat.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
