"""Source code as data: where a module's code comes from, what it defines, and whether memory and disk agree."""
