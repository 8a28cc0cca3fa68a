"""How slow a card must be for the rule of a fleet to find it: shares that are suspected by one run, and confirmed by a second one.

    python benchmarks/fleet_power.py

One card in a hundred is slow in two measurements, in cohorts of several sizes. Healthy cards spread as in tests/synthetic_fleet.py.
"""

from __future__ import annotations

import random

from gpudoctor.fleet.slow_cards import Judgement, Sample, judge

METRICS = (("matmul", "micro", "torch", "cuda", "float16", "0", "TFLOP/s"), ("bandwidth", "micro", "torch", "cuda", "float32", "0", "GB/s"))
SIZES = {4000: 4, 400: 20, 64: 80, 16: 160, 8: 160}
"""The cards of a cohort, and how often it is made."""
SHARES = (0.90, 0.93, 0.94, 0.95, 0.96, 0.965)
CARDS_OF_A_HOST = 8


def speeds(cards: int, slow: int, share: float, generator: random.Random) -> list[list[float]]:
    """What each card is by itself, by measurement; the first `slow` ones have a share of it."""
    return [
        [(share if card < slow else 1.0) * (1 + 0.006 * generator.gauss(0, 1) - 0.003 * generator.expovariate(1)) for _ in METRICS]
        for card in range(cards)
    ]


def one_run(cards: list[list[float]], generator: random.Random) -> Judgement:
    found = []
    for number, of_metric in enumerate(cards):
        for metric, speed in zip(METRICS, of_metric, strict=True):
            processes = sorted(speed * generator.gauss(1, 0.004) for _ in range(3))
            place = divmod(number, CARDS_OF_A_HOST)
            found.append(Sample(f"host{place[0]}", str(place[1]), str(number), metric, processes[1], tuple(processes)))
    return judge(found, {each.host: "all" for each in found})


def main() -> None:
    for cards, times in SIZES.items():
        slow = max(cards // 100, 1)
        for share in SHARES:
            counts = [0, 0, 0, 0]
            for seed in range(times):
                generator = random.Random(f"{cards} {share} {seed}")
                made = speeds(cards, slow, share, generator)
                first, second = ({card for card, _ in one_run(made, generator).slow} for _ in range(2))
                for place, accused in enumerate((second, first & second)):
                    found = sum(int(card) < slow for card in accused)
                    counts[place] += found
                    counts[2 + place] += len(accused) - found
            suspected, confirmed = (100 * count / (slow * times) for count in counts[:2])
            print(  # noqa: T201
                f"{cards:5} cards, {100 * (1 - share):.1f} % slow: suspected {suspected:3.0f} %, confirmed {confirmed:3.0f} %;"
                f" of {(cards - slow) * times} healthy ones {counts[2]} suspected, {counts[3]} confirmed"
            )


if __name__ == "__main__":
    main()
