"""Find, recognise and read the files of an engine. A reader returns what a file says, in trtexec's words."""
