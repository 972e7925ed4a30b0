"""The distribution in `native/`: its C under sanitizers, and its wheels."""
