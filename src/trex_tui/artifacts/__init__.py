"""Find, recognize and read the files that trtexec and other tools write. Imports neither pandas nor networkx."""
