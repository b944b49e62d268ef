"""The study machine: study files, cells, shards, claims, the command line."""
