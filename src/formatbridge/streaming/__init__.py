"""What streams of all formats have in common: framing and the order of events, without I/O."""
