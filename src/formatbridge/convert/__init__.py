"""Two formats joined: whole bodies, streams, exchanges, detection and the matrix of what each format can hold."""
