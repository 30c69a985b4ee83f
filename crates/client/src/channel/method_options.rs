//! Options of single services and methods, which a channel's calls start from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use peregrine_core::compression::Compression;
use peregrine_core::observe::{CompressionSetting, SettingScope, Side};
use peregrine_core::{CallOptions, Error, Format, Observe, Phase, survive};

/// What calls of a channel have that set none of their own.
#[derive(Clone, Debug)]
pub(super) struct MethodOptions {
    /// By `/package.Service/Method`, and by `/package.Service/` for all of a service. Usually empty.
    by_name: HashMap<Box<str>, CallOptions>,
    /// For everything else.
    defaults: CallOptions,
    /// What they come to where nothing else is set.
    settled: Settled,
}

/// What the options of a call come to, as far as the usual call looks at them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    pub(crate) timeout: Option<Duration>,
    /// Longest request message, in bytes.
    pub(crate) max_request: usize,
    /// Longest response message, in bytes.
    pub(crate) max_response: usize,
    /// Messages are in the codec's own format.
    pub(crate) is_native: bool,
    pub(crate) compression: Option<Compression>,
}

impl Settled {
    fn of(options: &CallOptions) -> Self {
        Self {
            timeout: options.timeout,
            max_request: options.max_request_size.unwrap_or(usize::MAX),
            max_response: options.max_response_size.unwrap_or(usize::MAX),
            is_native: options.format.unwrap_or_default() == Format::Proto,
            compression: options.compression.filter(|compression| !compression.is_off()),
        }
    }
}

impl MethodOptions {
    pub(super) fn new(defaults: CallOptions) -> Self {
        Self { by_name: HashMap::new(), defaults, settled: Settled::of(&defaults) }
    }

    /// Adds what was said of a name, over what had been said of it before.
    pub(super) fn add(&mut self, name: &str, options: CallOptions) -> Result<(), Error> {
        let place = self.by_name.entry(key(name)?).or_default();
        *place = options.or(*place);
        Ok(())
    }

    /// The options of a method: its own, else its service's, else the channel's.
    pub(super) fn of(&self, path: &str) -> Cow<'_, CallOptions> {
        if self.by_name.is_empty() { Cow::Borrowed(&self.defaults) } else { Cow::Owned(self.find(path)) }
    }

    /// What a call's options come to; `own` are those it has set itself.
    #[inline]
    pub(super) fn settle(&self, own: Option<&CallOptions>, path: &str) -> Settled {
        if own.is_none() && self.by_name.is_empty() { self.settled } else { self.settle_anew(own, path) }
    }

    #[inline(never)]
    fn settle_anew(&self, own: Option<&CallOptions>, path: &str) -> Settled {
        Settled::of(&own.copied().unwrap_or_default().or(*self.of(path)))
    }

    /// Tells what the settings of compression came to: the channel's, and those of services and methods that have one
    /// (wire-rules T8).
    pub(super) fn observe_compression(&self, observer: &dyn Observe) {
        let tell = |scope: SettingScope<'_>, setting: Option<Compression>| {
            let setting = CompressionSetting::new(Side::Client, scope, &setting.unwrap_or_default());
            // The observer is the user's code.
            let _panicked = survive(|| observer.compression(&setting));
        };
        tell(SettingScope::Default, self.defaults.compression);
        let mut own: Vec<_> =
            self.by_name.iter().map(|(name, options)| (name, options.compression)).collect();
        own.sort_unstable_by_key(|(name, _)| *name);
        for (name, setting) in own.into_iter().filter(|(_, setting)| setting.is_some()) {
            tell(SettingScope::of_name(name), setting);
        }
    }

    fn find(&self, path: &str) -> CallOptions {
        let named = |name: &str| self.by_name.get(name).copied().unwrap_or_default();
        let service = path.rfind('/').map_or("", |slash| &path[..=slash]);
        named(path).or(named(service)).or(self.defaults)
    }
}

/// A name as it is looked up: `/package.Service/Method` or `/package.Service/`.
fn key(name: &str) -> Result<Box<str>, Error> {
    let bare = name.strip_prefix('/').unwrap_or(name);
    let (service, method) = bare.rsplit_once('/').unwrap_or((bare, ""));
    if service.is_empty() || !bare.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::new(Phase::Config, format!("{name:?} names neither a service nor a method"))
            .with_hint("write package.Service or package.Service/Method"));
    }
    Ok(format!("/{service}/{method}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_methods_options_come_before_its_services_and_those_before_the_channels() {
        let seconds = |n| CallOptions::new().timeout(Duration::from_secs(n));
        let mut options = MethodOptions::new(seconds(1).max_response_size(9));
        assert_eq!(*options.of("/a.S/M"), options.defaults);
        options.add("a.S", seconds(2).max_request_size(7)).unwrap();
        options.add("/a.S/M", seconds(5)).unwrap();
        options.add("a.S/M", CallOptions::new().timeout(Duration::from_secs(3))).unwrap();
        let service = seconds(2).max_request_size(7).max_response_size(9);
        assert_eq!(*options.of("/a.S/M"), service.timeout(Duration::from_secs(3)));
        assert_eq!(*options.of("/a.S/N"), service);
        assert_eq!(*options.of("/a.T/M"), options.defaults);
    }

    #[test]
    fn what_is_settled_is_what_the_options_come_to() {
        let seconds = |n| CallOptions::new().timeout(Duration::from_secs(n));
        let mut options = MethodOptions::new(seconds(1).max_response_size(9));
        let timeout =
            |options: &MethodOptions, own, path| options.settle(own, path).timeout.map(|t| t.as_secs());
        assert_eq!(timeout(&options, None, "/a.S/M"), Some(1));
        options.add("a.S", seconds(2)).unwrap();
        assert_eq!(timeout(&options, None, "/a.S/M"), Some(2));
        assert_eq!(timeout(&options, None, "/a.T/M"), Some(1));
        let own = seconds(3).compression(Compression::off());
        assert_eq!(timeout(&options, Some(&own), "/a.S/M"), Some(3));
        let settled = options.settle(Some(&own), "/a.S/M");
        assert_eq!((settled.max_request, settled.max_response, settled.is_native), (usize::MAX, 9, true));
        assert_eq!(settled.compression, None, "what is off is nothing to do");
    }

    #[test]
    fn what_is_no_name_is_an_error() {
        for name in ["", "/", "//M", "a.S/M x", "a.S\n"] {
            let error = MethodOptions::new(CallOptions::new()).add(name, CallOptions::new()).unwrap_err();
            assert_eq!(error.phase(), Phase::Config, "{name:?}");
        }
    }
}
