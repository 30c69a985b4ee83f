//! What a user writes, under the user's own lints: functions that fail with our errors, in every form that
//! `clippy::result_large_err` looks at (wire-rules D1).
//!
//! That clippy finds nothing here is the test; `cargo xtask check` runs it. There is no exception in this crate but
//! [`counter_check`], which shows that the lint is at work.

use std::fmt;

use peregrine::error_details::{ErrorInfo, ResourceInfo};
use peregrine::{Channel, Request, Response, Status, Stream, Streaming};

peregrine::include_proto!();

use library::v1::{Book, Library, LibraryClient};

/// An error of the user's own: a status among others makes it no larger than that.
#[derive(Debug)]
pub enum LibraryError {
    /// No such book.
    Lost(Box<str>),
    /// What somebody else said.
    Elsewhere(Status),
    /// No connection.
    Unreachable(peregrine::Error),
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(title) => write!(f, "there is no {title}"),
            Self::Elsewhere(status) => status.fmt(f),
            Self::Unreachable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LibraryError {}

impl From<Status> for LibraryError {
    fn from(status: Status) -> Self {
        Self::Elsewhere(status)
    }
}

/// wire-rules E1: `?` in a handler turns the user's error into a status.
impl From<LibraryError> for Status {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Lost(title) => Self::not_found(format!("there is no {title}"))
                .with_detail(ErrorInfo::new("LOST", "library.example"))
                .with_detail(ResourceInfo::new("book", title)),
            LibraryError::Elsewhere(status) => status,
            LibraryError::Unreachable(error) => error.into(),
        }
    }
}

/// A plain function.
///
/// # Errors
/// The book has no title.
pub fn checked(book: Book) -> Result<Book, Status> {
    if book.title.is_empty() { Err(Status::invalid_argument("a book has a title")) } else { Ok(book) }
}

/// A function that connects.
///
/// # Errors
/// There is no library there.
pub async fn visit(target: &str) -> Result<LibraryClient, peregrine::Error> {
    Ok(LibraryClient::new(Channel::connect(target).await?))
}

/// A trait of the user's, with a default body, generic.
pub trait Shelf {
    /// Takes a book off.
    ///
    /// # Errors
    /// There is none of that title.
    fn take<T: AsRef<str>>(&self, title: T) -> Result<Book, Status> {
        Err(LibraryError::Lost(title.as_ref().into()).into())
    }

    /// Takes several off.
    ///
    /// # Errors
    /// One is missing.
    fn take_all(&self, titles: &[&str]) -> Result<Vec<Book>, Status> {
        titles.iter().map(|title| self.take(title)).collect()
    }
}

/// A service.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading;

impl Shelf for Reading {
    fn take<T: AsRef<str>>(&self, title: T) -> Result<Book, Status> {
        match title.as_ref() {
            "lost" => Err(LibraryError::Lost("lost".into()))?,
            title => checked(Book { title: title.to_owned(), ..Default::default() }),
        }
    }
}

impl Library for Reading {
    async fn get(&self, request: Request<Book>) -> Result<Response<Book>, Status> {
        Ok(self.take(&request.title)?.into())
    }

    async fn list(
        &self,
        request: Request<Book>,
    ) -> Result<Response<impl Stream<Item = Result<Book, Status>> + Send>, Status> {
        let title = request.into_inner().title;
        Ok(Response::new(peregrine::channel(move |books| async move {
            books.send(self.take(title)?).await?;
            Ok(())
        })))
    }

    async fn add(&self, mut request: Request<Streaming<Book>>) -> Result<Response<Book>, Status> {
        let mut last = Book::default();
        while let Some(book) = request.message().await? {
            last = checked(book)?;
        }
        Ok(last.into())
    }

    async fn trade(
        &self,
        request: Request<Streaming<Book>>,
    ) -> Result<Response<impl Stream<Item = Result<Book, Status>> + Send>, Status> {
        let mut offered = request.into_inner();
        Ok(Response::new(peregrine::channel(move |books| async move {
            while let Some(book) = offered.message().await? {
                books.send(self.take(book.title)?).await?;
            }
            Ok(())
        })))
    }
}

/// The lint is at work: it finds this one, and an expectation that is not met is a finding as well.
///
/// # Errors
/// Always.
#[expect(clippy::result_large_err, reason = "the counter-check: an error of four words")]
pub fn counter_check() -> Result<(), [usize; 4]> {
    Err([0; 4])
}
