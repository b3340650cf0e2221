"""Many runs from one command: `python -m qaexp -m experiment=ctrn/grid`. The runs themselves are the only state of a sweep."""
