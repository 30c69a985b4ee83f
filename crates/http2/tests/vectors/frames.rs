//! The cases of http2-frame-test-case: what a frame says, that it is written back as it was, and which error
//! a broken one gets.

use peregrine_http2::frame::{FRAME_HEADER_LEN, Frame, FrameError, FrameHeader, MIN_MAX_FRAME_SIZE, Setting};
use serde_json::{Value, json};

use crate::{hex, json_files, vectors};

#[test]
fn frames_read_and_written_as_the_vectors_say() {
    let Some(folder) = vectors("http2-frames") else { return };
    let files = json_files(&folder);
    assert_eq!(files.len(), 34, "cases in {}", folder.display());
    for file in files {
        let text = std::fs::read(&file).expect("a readable case");
        let case: Value = serde_json::from_slice(&text).expect("a case in JSON");
        check(&case, &file.display().to_string());
    }
}

fn check(case: &Value, name: &str) {
    let wire = hex(case["wire"].as_str().expect("wire"));
    let parsed = parse(&wire);
    if let Some(codes) = case["error"].as_array() {
        let error = parsed.expect_err(name);
        assert!(codes.contains(&json!(error.code.0)), "{name}: {error}, not one of {codes:?}");
        return;
    }
    let (header, frame) = parsed.unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected = &case["frame"];
    assert_eq!(expected["length"], header.len, "{name}");
    assert_eq!(expected["type"], header.kind.to_wire(), "{name}");
    assert_eq!(expected["flags"], header.flags.0, "{name}");
    assert_eq!(expected["stream_identifier"], header.stream.value(), "{name}");
    let mut fields = expected["frame_payload"].as_object().expect("fields").clone();
    // Padding is not kept: a sender must write zeros (RFC 9113, 6.1), the vectors have text.
    let padding = fields.remove("padding").and_then(|text| Some(text.as_str()?.len())).unwrap_or(0);
    fields.retain(|_, value| !value.is_null());
    assert_eq!(Value::Object(fields), payload(&frame), "{name}");

    let mut written = Vec::new();
    frame.encode(&mut written);
    let (content, pad) = wire.split_at(wire.len() - padding);
    assert_eq!(written, [content, &vec![0; pad.len()]].concat(), "{name}");
}

fn parse(wire: &[u8]) -> Result<(FrameHeader, Frame<'_>), FrameError> {
    let header = FrameHeader::parse(wire).expect("a frame header");
    header.check_len(MIN_MAX_FRAME_SIZE)?;
    Ok((header, Frame::parse(header, &wire[FRAME_HEADER_LEN..])?))
}

/// The fields of a payload by the names that the vectors give them.
fn payload(frame: &Frame<'_>) -> Value {
    let text = |bytes| std::str::from_utf8(bytes).expect("UTF-8");
    let mut fields = match frame {
        Frame::Data(data) => json!({ "data": text(data.data) }),
        Frame::Headers(headers) => json!({ "header_block_fragment": text(headers.fragment) }),
        Frame::Priority(_) => json!({}),
        Frame::RstStream(reset) => json!({ "error_code": reset.code.0 }),
        Frame::Settings(settings) => {
            let entries: Vec<Value> = settings.iter().map(entry).collect();
            json!({ "settings": entries })
        }
        Frame::PushPromise(promise) => json!({
            "header_block_fragment": text(promise.fragment),
            "promised_stream_id": promise.promised.value(),
        }),
        Frame::Ping(ping) => json!({ "opaque_data": text(&ping.payload) }),
        Frame::GoAway(goaway) => json!({
            "last_stream_id": goaway.last_stream.value(),
            "error_code": goaway.code.0,
            "additional_debug_data": text(goaway.debug),
        }),
        Frame::WindowUpdate(update) => json!({ "window_size_increment": update.increment }),
        Frame::Continuation(continuation) => json!({ "header_block_fragment": text(continuation.fragment) }),
        Frame::Unknown(_) => panic!("the vectors have no unknown types"),
    };
    let (padding, dependency) = match frame {
        Frame::Data(data) => (data.padding, None),
        Frame::Headers(headers) => (headers.padding, headers.dependency),
        Frame::PushPromise(promise) => (promise.padding, None),
        Frame::Priority(priority) => (None, Some(priority.dependency)),
        _ => (None, None),
    };
    if let Some(padding) = padding {
        fields["padding_length"] = json!(padding);
    }
    if let Some(dependency) = dependency {
        fields["exclusive"] = json!(dependency.exclusive);
        fields["stream_dependency"] = json!(dependency.parent.value());
        fields["weight"] = json!(u16::from(dependency.weight) + 1);
    }
    fields
}

fn entry(setting: Setting) -> Value {
    match setting {
        Setting::HeaderTableSize(value) => json!([1, value]),
        Setting::EnablePush(value) => json!([2, value]),
        Setting::MaxConcurrentStreams(value) => json!([3, value]),
        Setting::InitialWindowSize(value) => json!([4, value]),
        Setting::MaxFrameSize(value) => json!([5, value]),
        Setting::MaxHeaderListSize(value) => json!([6, value]),
        Setting::Unknown(id, value) => json!([id, value]),
    }
}
