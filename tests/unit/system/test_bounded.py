import json

from gpudoctor.system.host import FLOOD_KEPT, LONGEST_LINE, PAYLOAD_MARK, bounded


def test_of_a_flood_only_the_beginning_is_shown():
    assert len(bounded("\0" * 4_000_000, flooded=True)) == FLOOD_KEPT


def test_an_endless_line_is_cut_and_its_neighbours_stay():
    shown = bounded("before\n" + "x" * 1_000_000 + "\nafter").split("\n")
    assert [len(line) for line in shown] == [6, LONGEST_LINE, 5]


def test_documents_and_answers_of_our_own_payloads_stay_whole():
    document = json.dumps({"platforms": "y" * 20_000})
    assert bounded(document) == document
    answer = f"noise\n{PAYLOAD_MARK}{document}"
    assert bounded(answer) == answer
