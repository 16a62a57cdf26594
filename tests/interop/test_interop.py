"""What the comparisons find, without any server: python3 -m unittest discover tests/interop."""

import contextlib
import dataclasses
import io
import unittest
import zlib

import peers
import run
import scenario
import tidy
import tools
from records import Dataset, Different, Record, distinct, first_at

COUNT = 3000
PARTITIONS = 4


def stored(dataset):
    """The records as a broker would give them back."""
    ends, records = [0] * PARTITIONS, []
    for n in range(dataset.count):
        key, value, headers = dataset.content(n)
        partition = zlib.crc32(key.encode()) % PARTITIONS if key else n % PARTITIONS
        records.append(Record(partition, ends[partition], 1000 + n, key, value, headers))
        ends[partition] += 1
    return records


class Records(unittest.TestCase):
    def setUp(self):
        self.dataset = Dataset(COUNT)
        self.records = stored(self.dataset)

    def refused(self, words):
        with self.assertRaises(Different) as raised:
            self.dataset.check(self.records)
        self.assertIn(words, str(raised.exception))

    def test_what_was_written_passes(self):
        self.dataset.check(self.records)
        plain = Dataset(COUNT, plain_headers=True)
        plain.check(stored(plain))

    def test_a_lost_record_is_found(self):
        del self.records[17]
        self.refused("1 missing (17)")

    def test_a_repeated_record_is_found(self):
        last = max((record for record in self.records if record.partition == 0), key=lambda record: record.offset)
        first = next(record for record in self.records if record.partition == 0)
        self.records.append(dataclasses.replace(first, offset=last.offset + 1))
        self.refused("1 written more than once")

    def test_a_changed_record_is_found(self):
        self.records[5] = dataclasses.replace(self.records[5], headers=(("n", "6"),))
        self.refused("1 changed")

    def test_an_empty_value_is_not_a_missing_one(self):
        self.records[0] = dataclasses.replace(self.records[0], value="")
        self.refused("changed")

    def test_a_gap_between_offsets_is_found(self):
        self.records = [dataclasses.replace(r, offset=r.offset + (r.offset > 100)) for r in self.records]
        self.refused("out of place")

    def test_a_key_out_of_order_is_found(self):
        of_key = [n for n, record in enumerate(self.records) if record.key == "key-3"]
        first, second = (self.records[n] for n in of_key[:2])
        self.records[of_key[0]] = dataclasses.replace(first, offset=second.offset)
        self.records[of_key[1]] = dataclasses.replace(second, offset=first.offset)
        self.refused("1 out of order")

    def test_a_key_in_two_partitions_is_found(self):
        n = [n for n, record in enumerate(self.records) if record.key == "key-3"][-1]
        self.records[n] = dataclasses.replace(self.records[n], partition=PARTITIONS)
        self.refused("in another partition")

    def test_deliveries_may_come_again_but_not_differ(self):
        self.assertEqual(len(distinct(self.records + self.records[:9])), COUNT)
        with self.assertRaises(Different):
            distinct([*self.records, dataclasses.replace(self.records[0], key="another")])

    def test_a_time_is_answered_by_the_first_record_that_is_not_older(self):
        of_one = [record for record in self.records if record.partition == 1]
        self.assertEqual(first_at(self.records, 1, of_one[7].timestamp), 7)
        self.assertEqual(first_at(self.records, 1, of_one[7].timestamp - 1), 7 if of_one[6].timestamp < of_one[7].timestamp - 1 else 6)
        self.assertIsNone(first_at(self.records, 1, 10**6))


class Tools(unittest.TestCase):
    def test_ids_and_times_do_not_differ(self):
        line = "Topic: a\tTopicId: {}\tat BROKER 2026-01-0{} 10:00:00:123 "
        one, two = ([line.format(id, day)] for id, day in (("A" * 22, 1), ("b-" * 11, 2)))
        self.assertEqual(tidy.common(one, "127.0.0.1:1"), tidy.common(two, "127.0.0.1:2"))

    def test_of_an_error_the_class_counts(self):
        line = "TIME ERROR org.apache.kafka.tools.TopicCommand: org.apache.kafka.common.errors.{}: {}"
        one, same, other = ([line.format(kind, text)] for kind, text in (("AException", "no"), ("AException", "not so"), ("BException", "no")))
        self.assertEqual(tidy.common(one, "b"), tidy.common(same, "b"))
        self.assertNotEqual(tidy.common(one, "b"), tidy.common(other, "b"))

    def test_errors_are_errors_unless_they_are_the_right_answer(self):
        listed, refused = scenario.topics("x", "--list"), scenario.topics("x", "--list", refused=True)
        answer = 0, ["WARN something"]
        self.assertIn("it prints errors", tools.difference(listed, answer, answer))
        self.assertEqual(tools.difference(refused, answer, answer), "")
        self.assertIn("exit code 1", tools.difference(refused, answer, (1, answer[1])))

    def test_other_text_is_told_line_by_line(self):
        told = tools.difference(scenario.topics("x", "--list"), (0, ["a", "b"]), (0, ["a", "c"]))
        self.assertIn("-b", told)
        self.assertIn("+c", told)

    def test_the_share_of_each_poll_does_not_matter(self):
        poll = '{{"name":"records_consumed","count":{},"partitions":[{{"topic":"t","partition":0,"minOffset":{},"maxOffset":{}}}]}}'
        once = tidy.consumed_lines([poll.format(10, 0, 9)])
        self.assertEqual(once, tidy.consumed_lines([poll.format(4, 0, 3), poll.format(6, 4, 9)]))
        self.assertNotEqual(once, tidy.consumed_lines([poll.format(9, 0, 8)]))

    def test_rates_do_not_matter_but_counts_do(self):
        line = "{} records sent, {}.5 records/sec (1.2 MB/sec), 3.4 ms avg latency"
        self.assertEqual(tidy.last_summary([line.format(100, 7)]), tidy.last_summary(["progress", line.format(100, 8)]))
        self.assertNotEqual(tidy.last_summary([line.format(100, 7)]), tidy.last_summary([line.format(99, 7)]))

    def test_every_command_has_a_name_of_its_own(self):
        names = [command.name for command in scenario.COMMANDS]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({command.tool for command in scenario.COMMANDS}, set(scenario.MAIN))


class Peers(unittest.TestCase):
    def test_ratios_are_those_of_one_round(self):
        run = lambda turn, broker, rate: {"round": turn, "case": "1KiB", "broker": broker, "produce": {"records_per_s": rate}}
        runs = [run("1", "kafka", 10), run("1", "tidegate-s3", 20), run("2", "kafka", 100), run("2", "tidegate-s3", 100)]
        runs += [{"round": "1", "case": "1KiB", "broker": "tansu-s3", "error": "gone"}]
        kafka, ours = peers.lines(runs)
        self.assertEqual((kafka["value"], "ratio" in kafka), (55, False))
        self.assertEqual((ours["against"], ours["ratio"], ours["baseline"], ours["value"]), ("kafka", 1.5, 55, 60))


class CommandLine(unittest.TestCase):
    def test_all_parts_are_listed(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.assertEqual(run.main(["--list"]), 0)
        self.assertEqual(len(printed.getvalue().splitlines()), 8)

    def test_an_unknown_part_is_refused(self):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
            run.main(["telnet"])
        self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
