//! Options of services and methods, as a channel gives them to its calls.

use std::future::ready;
use std::io;
use std::time::Duration;

use peregrine_client::Channel;
use peregrine_core::compression::Compression;
use peregrine_core::{CallOptions, Code, Format, Request};
use peregrine_testkit::{PipeEnd, virtual_time};

use crate::{list, message, pair, unary};

#[test]
fn a_methods_timeout_is_sent_unless_the_call_has_its_own() {
    // wire-rules 13
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let builder = builder
            .timeout(Duration::from_secs(9))
            .configure("test.Service", CallOptions::new().timeout(Duration::from_secs(2)))
            .configure("test.Service/Unary", CallOptions::new().timeout(Duration::from_secs(1)));
        let (channel, server) = tokio::join!(builder.connect(), acceptor.accept());
        let (channel, mut server) = (channel.unwrap(), server);
        let own = Request::new(message("")).timeout(Duration::from_secs(3));
        for (request, expected) in [(own, "3000000u"), (message("").into(), "1000000u")] {
            let served = async {
                let asked = server.request().await;
                assert_eq!(asked.field("grpc-timeout"), Some(expected));
                server.reply(asked.stream, b"").await;
            };
            let (reply, ()) = tokio::join!(unary(&channel, request), served);
            reply.unwrap();
        }
        let _replies = list(&channel, message("")).await.unwrap();
        assert_eq!(server.request().await.field("grpc-timeout"), Some("2000000u"), "the service's");
    });
}

#[test]
fn a_methods_sizes_bound_its_messages() {
    // wire-rules 42, 44
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let sizes = CallOptions::new().max_request_size(3).max_response_size(4);
        let builder = builder.configure("test.Service/Unary", sizes);
        let (channel, server) = tokio::join!(builder.connect(), acceptor.accept());
        let (channel, mut server) = (channel.unwrap(), server);
        let status = unary(&channel, message("long")).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        for (payload, fits) in [(&b"four"[..], true), (b"fives", false)] {
            let served = async {
                let stream = server.request().await.stream;
                server.reply(stream, payload).await;
            };
            let (reply, ()) = tokio::join!(unary(&channel, message("ok")), served);
            assert_eq!(
                reply.map_err(|status| status.code()).err(),
                (!fits).then_some(Code::ResourceExhausted)
            );
        }
    });
}

#[test]
fn a_method_may_wait_for_a_connection_while_others_fail_at_once() {
    // wire-rules 96
    virtual_time(async {
        let channel = Channel::builder("server.test:1")
            .connector(|| ready(Err::<PipeEnd, _>(io::Error::other("nobody there"))))
            .configure("test.Service/Unary", CallOptions::new().wait_for_ready(true))
            .build()
            .unwrap();
        assert_eq!(list(&channel, message("")).await.unwrap_err().code(), Code::Unavailable);
        let request = Request::new(message("")).timeout(Duration::from_secs(5));
        assert_eq!(unary(&channel, request).await.unwrap_err().code(), Code::DeadlineExceeded);
    });
}

#[test]
fn a_name_that_cannot_be_one_is_an_error() {
    let (builder, _acceptor) = pair();
    let error = builder.configure("no name", CallOptions::new()).build().unwrap_err();
    assert!(format!("{error:?}").contains("package.Service"), "{error:?}");
}

#[test]
fn a_format_that_the_channel_was_not_given_is_an_error_when_it_is_built() {
    let (builder, _acceptor) = pair();
    let error = builder.format(Format::Json).build().unwrap_err();
    assert_eq!(
        format!("{error:?}"),
        "invalid configuration: the channel: the channel was not given a way to write application/grpc+json\n  phase: \
         configuration\n  next step: give its builder one, as in .json(Json::new())"
    );
    let (builder, _acceptor) = pair();
    let mut options = CallOptions::new();
    options.format = Some(Format::Json);
    let error = builder.configure("test.Service", options).build().unwrap_err();
    assert!(error.to_string().contains("test.Service: the channel was not given"), "{error}");
}

#[test]
fn what_only_a_call_asks_for_and_the_channel_cannot_do_says_what_to_do() {
    // wire-rules P2, T4
    virtual_time(async {
        let (builder, _acceptor) = pair();
        let channel = builder.build().unwrap();
        let status = unary(&channel, Request::new(message("")).format(Format::Json)).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented);
        let report = format!("{status:?}");
        assert!(
            report.contains("phase: call") && report.contains("next step: give its builder one"),
            "{report}"
        );

        let nonsense = Compression::adaptive().min_saving(100);
        let status = unary(&channel, Request::new(message("")).compress(nonsense)).await.unwrap_err();
        assert_eq!(status.code(), Code::Internal);
        let report = format!("{status:?}");
        assert!(report.contains("the request's setting of compression cannot be used"), "{report}");
        assert!(
            report.contains("phase: call") && report.contains("next step: name only encodings"),
            "{report}"
        );
    });
}
