"""`python -m diffgan`."""

from diffgan.cli.main import main

if __name__ == "__main__":
    main()
