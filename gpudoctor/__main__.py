"""The entry point of `python -m gpudoctor`."""

from gpudoctor.start import main

if __name__ == "__main__":
    main()
