"""What a user types and reads: the command line, its help, mistakes told with their mend, how runs show on the screen and end."""
