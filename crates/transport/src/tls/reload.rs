//! Reading certificates again from time to time, for files that something else renews.

use std::convert::Infallible;
use std::time::Duration;

use peregrine_core::{Error, Phase};

use super::{ClientTls, ServerTls};

impl ServerTls {
    /// [Reloads](Self::reload) at every interval for as long as the future runs; give it a task of its own. `told` hears
    /// how each reload went: whether the files had changed, or why what was in use stays in use. Files are read on a
    /// thread where that may take its time.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use peregrine_transport::tls::ServerTls;
    /// # fn start() -> Result<(), peregrine_core::Error> {
    /// let tls = ServerTls::from_files("tls/chain.pem", "tls/key.pem")?;
    /// let renewed = tls.clone(); // `tls` goes to the server
    /// tokio::spawn(renewed.reload_every(Duration::from_mins(10), |reloaded| match reloaded {
    ///     Ok(true) => println!("new certificate"),
    ///     Ok(false) => {}
    ///     Err(error) => eprintln!("{error:?}"),
    /// }));
    /// # Ok(()) }
    /// ```
    pub async fn reload_every(
        self,
        interval: Duration,
        told: impl FnMut(Result<bool, Error>) + Send,
    ) -> Infallible {
        every(interval, move || self.reload(), told).await
    }
}

impl ClientTls {
    /// [Reloads](Self::reload) at every interval, as [`ServerTls::reload_every`] does.
    pub async fn reload_every(
        self,
        interval: Duration,
        told: impl FnMut(Result<bool, Error>) + Send,
    ) -> Infallible {
        every(interval, move || self.reload(), told).await
    }
}

async fn every<R>(
    interval: Duration,
    reload: R,
    mut told: impl FnMut(Result<bool, Error>) + Send,
) -> Infallible
where
    R: Fn() -> Result<bool, Error> + Clone + Send + 'static,
{
    loop {
        tokio::time::sleep(interval).await;
        let result = match tokio::task::spawn_blocking(reload.clone()).await {
            Ok(result) => result,
            Err(ended) => {
                Err(Error::new(Phase::Config, "certificates could not be read again").with_source(ended))
            }
        };
        told(result);
    }
}
