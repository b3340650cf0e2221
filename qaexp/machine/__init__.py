"""What a run asks of the machine: threads, memory, which library multiplies, and several processes."""
