"""Task routing: transformers that store knowledge by construction, and losses that route by task."""
