"""The import paths that older experiments of users name; what stands here now lives in :mod:`moestat.experiment`."""
