"""Between a user and any program: help, numbers on command lines, mistakes told with their mend, how a program ends, fewer lines."""
