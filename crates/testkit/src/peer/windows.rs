//! What the server lets a peer send. The peer only counts; whether it keeps to it is the test's choice.

use std::collections::HashMap;

use peregrine_http2::StreamId;
use peregrine_http2::frame::Setting;

use super::received::Received;

/// A window as it is before anyone changes it (RFC 9113 6.9.2).
const DEFAULT_WINDOW: i64 = 65_535;

/// What the server lets this side send.
#[derive(Debug)]
pub(super) struct Windows {
    initial: i64,
    connection: i64,
    streams: HashMap<StreamId, i64>,
}

impl Default for Windows {
    fn default() -> Self {
        Self { initial: DEFAULT_WINDOW, connection: DEFAULT_WINDOW, streams: HashMap::new() }
    }
}

impl Windows {
    pub(super) fn open(&mut self, stream: StreamId) {
        self.streams.insert(stream, self.initial);
    }

    /// What may be sent on a stream as far as that goes, negative after the server has shrunk its windows; on the
    /// connection for stream 0.
    pub(super) fn of(&self, stream: StreamId) -> i64 {
        if stream.is_connection() {
            return self.connection;
        }
        self.streams.get(&stream).copied().unwrap_or(self.initial)
    }

    /// What may be sent on a stream now.
    pub(super) fn room(&self, stream: StreamId) -> usize {
        usize::try_from(self.of(stream).min(self.connection)).unwrap_or(0)
    }

    pub(super) fn on_sent(&mut self, stream: StreamId, bytes: usize) {
        let initial = self.initial;
        *self.streams.entry(stream).or_insert(initial) -= bytes as i64;
        self.connection -= bytes as i64;
    }

    pub(super) fn on_received(&mut self, frame: &Received) {
        match frame {
            Received::WindowUpdate { stream, increment } if stream.is_connection() => {
                self.connection += i64::from(*increment);
            }
            Received::WindowUpdate { stream, increment } => {
                let initial = self.initial;
                *self.streams.entry(*stream).or_insert(initial) += i64::from(*increment);
            }
            Received::Settings(settings) => {
                for setting in settings {
                    if let Setting::InitialWindowSize(bytes) = setting {
                        let change = i64::from(*bytes) - self.initial;
                        self.initial += change;
                        self.streams.values_mut().for_each(|window| *window += change);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_what_is_sent_and_what_the_server_says() {
        let (one, three) = (StreamId::new(1), StreamId::new(3));
        let mut windows = Windows::default();
        windows.open(one);
        windows.on_sent(one, 60_000);
        assert_eq!((windows.of(one), windows.room(one), windows.room(three)), (5_535, 5_535, 5_535));
        windows.on_received(&Received::WindowUpdate { stream: StreamId::CONNECTION, increment: 100_000 });
        assert_eq!((windows.room(one), windows.room(three)), (5_535, 65_535));
        windows.on_received(&Received::WindowUpdate { stream: one, increment: 1_000 });
        assert_eq!(windows.room(one), 6_535);
        // RFC 9113 6.9.2: open streams follow a change of the initial window, below zero if need be.
        windows.on_received(&Received::Settings(vec![Setting::InitialWindowSize(1_000)]));
        assert_eq!((windows.of(one), windows.room(one), windows.of(three)), (-58_000, 0, 1_000));
    }
}
