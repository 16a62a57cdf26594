//! KafScale's published segment format, version 1: read, and written as an export.
