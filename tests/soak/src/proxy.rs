//! A TCP proxy that does to connections what networks do: it cuts them, in both directions or one, in the middle of
//! whatever is on its way, slices what passes, and holds it up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::load::Dice;

/// What the proxy has done, and whether it may do more.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// No new faults: what begins now must succeed.
    pub(crate) quiet: AtomicBool,
    pub(crate) connections: AtomicU64,
    pub(crate) cuts: AtomicU64,
    pub(crate) stalls: AtomicU64,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// Both ends get a reset.
    Reset,
    /// Both ends see a clean close, whatever was on its way.
    Close,
    /// Nothing passes any more, and both ends learn of it a second later.
    Vanish,
}

/// What holds up one direction, or ends it.
#[derive(Debug, Default)]
struct Way {
    held: AtomicBool,
    cut: Notify,
}

/// Takes connections for `server` until dropped.
pub(crate) async fn run(listener: TcpListener, server: SocketAddr, faults: Arc<Faults>) -> Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await?;
        let server = TcpStream::connect(server).await?;
        let number = faults.connections.fetch_add(1, Ordering::Relaxed);
        connections.spawn(pass(client, server, Dice::new(number + 1), Arc::clone(&faults)));
        while connections.try_join_next().is_some() {}
    }
}

/// One connection, from its beginning to its end or its cut.
async fn pass(mut client: TcpStream, mut server: TcpStream, mut dice: Dice, faults: Arc<Faults>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let slice = if dice.roll(4) == 0 { 1 + dice.roll(100) as usize } else { 64 * 1024 };
    let ways = [Way::default(), Way::default()];
    let fate = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let both = async {
            tokio::join!(
                copy(from_client, to_server, slice, &ways[0]),
                copy(from_server, to_client, slice, &ways[1])
            )
        };
        tokio::select! {
            fate = fate(&mut dice, &faults, &ways) => fate,
            // Both ends have closed by themselves.
            _ = both => return,
        }
    };
    faults.cuts.fetch_add(1, Ordering::Relaxed);
    match fate {
        Fate::Close => {}
        Fate::Reset => {
            // An option that cannot be set changes how the cut looks, not that it is one.
            let _ = (client.set_zero_linger(), server.set_zero_linger());
        }
        Fate::Vanish => tokio::time::sleep(Duration::from_secs(1)).await,
    }
}

/// Waits for the moment at which the connection is cut, with stalls on the way there.
async fn fate(dice: &mut Dice, faults: &Faults, ways: &[Way; 2]) -> Fate {
    loop {
        tokio::time::sleep(Duration::from_millis(50 + dice.roll(4_000))).await;
        if faults.quiet.load(Ordering::Relaxed) {
            continue;
        }
        match dice.roll(8) {
            0..=2 => {
                let way = &ways[dice.roll(2) as usize];
                faults.stalls.fetch_add(1, Ordering::Relaxed);
                way.held.store(true, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(dice.roll(700))).await;
                way.held.store(false, Ordering::Relaxed);
            }
            3 => return Fate::Close,
            4 => {
                // One direction is closed in an orderly way; the other goes on for a while.
                ways[dice.roll(2) as usize].cut.notify_one();
                tokio::time::sleep(Duration::from_millis(300)).await;
                return Fate::Close;
            }
            5 => return Fate::Vanish,
            _ => return Fate::Reset,
        }
    }
}

/// One direction, in slices of at most so many octets; passes the end of the stream on.
async fn copy(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, slice: usize, way: &Way) {
    let mut buffer = vec![0; slice];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            () = way.cut.notified() => break,
        };
        while way.held.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let Ok(len @ 1..) = read else { break };
        if to.write_all(&buffer[..len]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}
