use proptest::prelude::*;

use super::*;

const HEAD: &str = "at_us,event,topic,partition,bytes,records,reader,offset,lanes\n0,topic,orders,4,,,,,2\n";

fn read(lines: &str) -> Result<Trace> {
    Trace::read("t.csv", format!("{HEAD}{lines}").as_bytes())
}

#[test]
fn each_event_is_a_line() {
    let trace = read("5,append,orders,3,4096,8\n5,send,orders,0,61,1\n\n9,fetch,orders,3,1000,,7,0\n12,fetch,orders,3,1000,,7\n").unwrap();
    assert_eq!(trace.topics, [Topic { name: TopicName::new("orders").unwrap(), partitions: 4, lanes: 2 }]);
    let actions: Vec<Action> = trace.events.iter().map(|event| event.action).collect();
    let expected = [
        Action::Append { bytes: 4_096, records: 8, waits: true },
        Action::Append { bytes: 61, records: 1, waits: false },
        Action::Fetch { reader: 7, offset: Some(0), bytes: 1_000 },
        Action::Fetch { reader: 7, offset: None, bytes: 1_000 },
    ];
    assert_eq!(actions, expected);
    assert_eq!(trace.span_us(), 12);
}

#[test]
fn what_is_wrong_is_named_by_line_and_column() {
    let cases = [
        ("x,append,orders,3,4096,8", "t.csv:3: column at_us is \"x\""),
        ("9,append,orders,3,100,1\n8,append,orders,3,100,1", "t.csv:4: column at_us is 8, below 9"),
        ("1,apend,orders,3,4096,8", "t.csv:3: column event is \"apend\", expected append, send, fetch or topic"),
        ("1,append,other,3,4096,8", "t.csv:3: column topic is \"other\", and no line before names it"),
        ("1,append,orders,4,4096,8", "t.csv:3: column partition is \"4\", expected a number from 0 to 3"),
        ("1,append,orders,3,60,8", "t.csv:3: column bytes is \"60\", expected a number from 61 to"),
        ("1,append,orders,3,100,0", "t.csv:3: column records is \"0\""),
        ("1,append,orders,3,100,1000001", "t.csv:3: column records is \"1000001\", expected a number from 1 to 1000000"),
        ("2592000000001,append,orders,3,100,1", "column at_us is \"2592000000001\", expected a number from 0 to 2592000000000"),
        ("18446744073709551615,append,orders,3,100,1", "t.csv:3: column at_us is"),
        ("1,append,orders,3", "t.csv:3: column bytes is \"\""),
        ("1,fetch,orders,3,100,,-1", "t.csv:3: column reader is \"-1\""),
        ("1,fetch,orders,3,100,,1,x", "t.csv:3: column offset is \"x\""),
        ("1,fetch,orders,3,100,,1,0,0,0", "t.csv:3: more than 9 columns"),
        ("1,topic,orders,4", "t.csv:3: column topic: orders is named a second time"),
        ("1,topic,a/b,4", "t.csv:3: column topic: invalid topic name"),
        ("1,topic,other,4,,,,,5", "t.csv:3: column lanes is \"5\", expected a number from 0 to 4"),
        ("1,fetch,orders,3,9,,1\n2,fetch,orders,2,9,,1", "event 2 of the trace: reader 1 reads partition 3"),
    ];
    for (lines, expected) in cases {
        let error = read(lines).unwrap_err();
        assert!(error.message().contains(expected), "{lines:?}: {error}");
    }
    let error = Trace::read("t.csv", &b"at,event\n"[..]).unwrap_err();
    assert!(error.message().starts_with("t.csv:1: the first line is \"at,event\", expected \"at_us,"), "{error}");
    let error = Trace::read("t.csv", &b""[..]).unwrap_err();
    assert!(error.message().starts_with("t.csv:1: the first line is \"\", expected"), "a recording that failed is no trace: {error}");
    let long = format!("1,append,{},1", "a".repeat(2_000));
    assert!(read(&long).unwrap_err().message().contains("t.csv:3: cannot be read: it is longer than 1024 bytes"));
}

fn event() -> impl Strategy<Value = (u64, u32, u32, Action)> {
    let append =
        (61_u32..1 << 20, 1_u32..1_000, any::<bool>()).prop_map(|(bytes, records, waits)| Action::Append { bytes, records, waits });
    // A reader for each partition, so that it keeps to it.
    let fetch = (prop::option::of(0_i64..i64::MAX), 1_u32..).prop_map(|(offset, bytes)| Action::Fetch { reader: 0, offset, bytes });
    (0_u64..1 << 40, 0_u32..2, 0_u32..3, prop_oneof![append, fetch])
}

proptest! {
    #[test]
    fn a_trace_that_is_written_is_read_as_it_was(mut events in prop::collection::vec(event(), 0..50)) {
        events.sort_by_key(|event| event.0);
        let name = |name| TopicName::new(name).unwrap();
        let topics = vec![Topic { name: name("a"), partitions: 3, lanes: 0 }, Topic { name: name("b.c-d_e"), partitions: 9, lanes: 4 }];
        let event = |(at_us, topic, partition, action): (u64, u32, u32, Action)| {
            let action = match action {
                Action::Fetch { offset, bytes, .. } => Action::Fetch { reader: topic * 3 + partition, offset, bytes },
                append => append,
            };
            Event { at_us, topic, partition, action }
        };
        let trace = Trace { topics, events: events.into_iter().map(event).collect() };
        let mut text = Vec::new();
        trace.write(&mut text).unwrap();
        prop_assert_eq!(Trace::read("t", text.as_slice()).unwrap(), trace);
    }

    #[test]
    fn any_text_is_a_trace_or_refused(text in "\\PC{0,200}") {
        let _ = read(&text);
    }
}
