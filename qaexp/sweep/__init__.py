"""Many runs from one command, such as `qaexp -m experiment=ctrn/grid`. A sweep has no state besides its runs."""
