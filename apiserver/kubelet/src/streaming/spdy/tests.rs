//! Frames and blocks of headers from outside: what is read is what was written, and nothing that is sent breaks a server.

use bytes::Bytes;
use futures::StreamExt as _;
use proptest::prelude::*;
use tokio::io::AsyncWriteExt as _;

use super::super::connection::{Event, Sent};
use super::connection::{MOST_STREAMS, connection};
use super::dictionary::DICTIONARY;
use super::frame::{Frame, MOST_CONTROL, MOST_DATA, Reader, Writer};
use super::headers::{Headers, MOST_BLOCK, MOST_HEADERS, Packer, Unpacker};

fn text() -> impl Strategy<Value = String> {
    "[a-z-]{0,20}"
}

fn headers() -> impl Strategy<Value = Headers> {
    prop::collection::vec((text(), text()), 0..6)
}

fn frame() -> impl Strategy<Value = Frame> {
    let stream = 0..1_u32 << 31;
    let bytes = prop::collection::vec(any::<u8>(), 0..100);
    prop_oneof![
        (stream.clone(), headers(), any::<bool>()).prop_map(|(stream, headers, last)| {
            Frame::Open {
                stream,
                headers,
                last,
            }
        }),
        (stream.clone(), any::<bool>()).prop_map(|(stream, last)| Frame::Reply { stream, last }),
        (stream.clone(), bytes, any::<bool>()).prop_map(|(stream, bytes, last)| Frame::Data {
            stream,
            bytes: bytes.into(),
            last,
        }),
        stream.clone().prop_map(|stream| Frame::Reset { stream }),
        any::<u32>().prop_map(Frame::Ping),
        stream.prop_map(|last_good| Frame::GoAway { last_good }),
    ]
}

fn written(frames: &[Frame]) -> Vec<u8> {
    let mut writer = Writer::new().unwrap();
    let frames = frames.iter().map(|frame| writer.write(frame).unwrap());
    frames.collect::<Vec<_>>().concat()
}

/// Reads all frames; none for what is no sequence of frames.
fn read(bytes: &[u8]) -> Option<Vec<Frame>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(async {
        let mut reader = Reader::new(bytes);
        let mut frames = Vec::new();
        while let Some(frame) = reader.next().await.ok()? {
            frames.push(frame);
        }
        Some(frames)
    })
}

proptest! {
    #[test]
    fn frames_are_read_as_they_were_written(frames in prop::collection::vec(frame(), 0..8)) {
        prop_assert_eq!(read(&written(&frames)), Some(frames));
    }

    #[test]
    fn frames_that_break_off_or_are_changed_end_the_connection_at_most(
        frames in prop::collection::vec(frame(), 1..4),
        end in any::<prop::sample::Index>(),
        changed in any::<prop::sample::Index>(),
        to in any::<u8>(),
    ) {
        let mut bytes = written(&frames);
        let at = changed.index(bytes.len());
        bytes[at] = to;
        bytes.truncate(end.index(bytes.len() + 1));
        read(&bytes);
    }

    #[test]
    fn blocks_of_headers_are_unpacked_as_they_were_packed(
        blocks in prop::collection::vec(headers(), 1..5),
    ) {
        let (mut packer, mut unpacker) = (Packer::new().unwrap(), Unpacker::new());
        for block in blocks {
            let packed = packer.pack(&block).unwrap();
            prop_assert_eq!(unpacker.unpack(&packed).unwrap(), block);
        }
    }
}

#[test]
fn the_dictionary_is_that_of_the_protocol() {
    let packed = Packer::new().unwrap().pack(&Headers::new()).unwrap();
    assert_eq!(DICTIONARY.len(), 1423);
    assert_eq!(packed[2..6], [0xe3, 0xc6, 0xa7, 0xc2]);
}

#[test]
fn a_block_that_unpacks_to_too_much_is_refused() {
    let packed = |headers: Headers| Packer::new().unwrap().pack(&headers).unwrap();
    let large = vec![("a".to_owned(), "b".repeat(MOST_BLOCK))];
    let many = vec![(String::new(), String::new()); MOST_HEADERS + 1];
    for headers in [large, many] {
        assert!(Unpacker::new().unpack(&packed(headers)).is_err());
    }
}

#[test]
fn a_frame_that_is_too_long_is_refused_before_it_is_read() {
    let mut long = written(&[Frame::Ping(1)]);
    let [_, length @ ..] = u32::try_from(MOST_CONTROL + 1).unwrap().to_be_bytes();
    long[5..8].copy_from_slice(&length);
    assert_eq!(read(&long), None);
}

#[test]
fn data_of_any_length_are_read_in_parts() {
    let bytes = Bytes::from(vec![7; MOST_DATA + 1]);
    let (stream, last) = (1, true);
    let frames = read(&written(&[Frame::Data {
        stream,
        bytes: bytes.clone(),
        last,
    }]));
    let part = |range, last| Frame::Data {
        stream,
        bytes: bytes.slice(range),
        last,
    };
    let parts = [
        part(0..MOST_DATA, false),
        part(MOST_DATA..MOST_DATA + 1, true),
    ];
    assert_eq!(frames.unwrap(), parts);
}

#[tokio::test]
async fn streams_are_opened_and_ended_by_the_client() {
    let open = |stream| Frame::Open {
        stream,
        headers: vec![("streamtype".to_owned(), "data".to_owned())],
        last: false,
    };
    let data = |stream, last| Frame::Data {
        stream,
        bytes: Bytes::from_static(b"x"),
        last,
    };
    let (mut client, server) = tokio::io::duplex(1 << 20);
    let sent = written(&[
        open(1),
        data(1, false),
        data(3, false),
        open(3),
        data(3, true),
        data(3, false),
        Frame::Reset { stream: 1 },
        // A client counts upwards.
        open(3),
    ]);
    client.write_all(&sent).await.unwrap();
    let events: Vec<Event> = connection(server).unwrap().events.collect().await;
    let names: Vec<String> = events
        .iter()
        .map(|event| match event {
            Event::Opened { stream, .. } => format!("{stream} opened"),
            Event::Data { stream, .. } => format!("{stream} data"),
            Event::Ended { stream } => format!("{stream} ended"),
        })
        .collect();
    let expected = [
        "1 opened", "1 data", "3 opened", "3 data", "3 ended", "1 ended",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn a_client_with_too_many_streams_is_refused_more() {
    let (mut client, server) = tokio::io::duplex(1 << 20);
    let streams = (0..=u32::try_from(MOST_STREAMS).unwrap()).map(|at| 2 * at + 1);
    let frames: Vec<Frame> = streams
        .map(|stream| Frame::Open {
            stream,
            headers: Headers::new(),
            last: false,
        })
        .collect();
    client.write_all(&written(&frames)).await.unwrap();
    client.shutdown().await.unwrap();
    let served = connection(server).unwrap();
    let events: Vec<Event> = served.events.collect().await;
    assert_eq!(events.len(), MOST_STREAMS);
    served.outbox.send(Sent::Close).await.unwrap();
    served.writer.await;
    let refused = Reader::new(client).next().await.unwrap();
    assert!(matches!(refused, Some(Frame::Reset { .. })), "{refused:?}");
}
