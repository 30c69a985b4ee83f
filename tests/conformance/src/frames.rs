//! Messages between a program and the runner that started it: 4 bytes of length, most significant first, then the
//! message. Read by both programs from standard input, written by both to standard output.

use anyhow::{Context, Result, ensure};
use buffa::Message;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longer than any message of the suite; what is over it is not the runner's.
const LONGEST: u32 = 64 << 20;

/// The next message; `None` if the runner has no more.
///
/// # Errors
/// The input broke off within a message, or what came is none.
pub async fn read<M: Message>(input: &mut (impl AsyncRead + Unpin)) -> Result<Option<M>> {
    let mut length = [0; 4];
    if input.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut length[1..]).await.context("the runner's message broke off in its length")?;
    let length = u32::from_be_bytes(length);
    ensure!(length <= LONGEST, "a message of {length} bytes is not the runner's");
    let mut bytes = vec![0; length as usize];
    input.read_exact(&mut bytes).await.context("the runner's message broke off")?;
    M::decode_from_slice(&bytes).map(Some).context("the runner's message cannot be decoded")
}

/// Writes `message` and lets it leave.
///
/// # Errors
/// The runner is gone.
pub async fn write(output: &mut (impl AsyncWrite + Unpin), message: &impl Message) -> Result<()> {
    let body = message.encode_to_vec();
    let length = u32::try_from(body.len()).context("a message that no length fits")?;
    output.write_all(&[&length.to_be_bytes()[..], &body].concat()).await?;
    output.flush().await.context("could not write to the runner")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::ServerCompatResponse;

    #[tokio::test]
    async fn messages_come_back_one_by_one_and_then_the_end() {
        let mut pipe = Vec::new();
        let first = ServerCompatResponse { host: "127.0.0.1".into(), port: 300, ..Default::default() };
        write(&mut pipe, &first).await.unwrap();
        write(&mut pipe, &ServerCompatResponse::default()).await.unwrap();
        assert_eq!(pipe[..4], [0, 0, 0, pipe.len() as u8 - 8]);
        let mut input = &pipe[..];
        assert_eq!(read(&mut input).await.unwrap(), Some(first));
        assert_eq!(read(&mut input).await.unwrap(), Some(ServerCompatResponse::default()));
        assert_eq!(read::<ServerCompatResponse>(&mut input).await.unwrap(), None);
    }

    #[tokio::test]
    async fn input_that_breaks_off_is_an_error() {
        for broken in [&[0, 0][..], &[0, 0, 0, 2, 8], &[0xff; 4], &[0, 0, 0, 1, 0xff]] {
            let mut input = broken;
            assert!(read::<ServerCompatResponse>(&mut input).await.is_err(), "{broken:?}");
        }
    }
}
