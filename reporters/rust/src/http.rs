// SPDX-License-Identifier: Apache-2.0

//! As much of HTTP/1.1 as one request and its answer need.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use crate::warnings::warning_texts;

/// Most bytes of an answer that are read. D19.
const MAX_BODY: usize = 64 << 10;
const MAX_HEAD: usize = 64 << 10;

/// What the server said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    pub retry_after: Option<String>,
    pub warnings: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Error {
    pub error: io::Error,
    /// The connection ended before the first byte of an answer: the server closed it before.
    pub unheard: bool,
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self { error, unheard: false }
    }
}

/// A socket whose reads and writes end at a deadline, however slowly bytes arrive. D18.
#[derive(Debug)]
pub(crate) struct Timed {
    pub socket: TcpStream,
    pub deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<std::time::Duration>> {
        match self.deadline.saturating_duration_since(Instant::now()) {
            left if left.is_zero() => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

/// The system says "would block" when the time of a socket is over.
fn timed_out<T>(result: io::Result<T>) -> io::Result<T> {
    result.map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => e,
    })
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        timed_out(self.socket.read(into))
    }
}

impl Write for Timed {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        timed_out(self.socket.write(from))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Sends a request and reads its answer. Also tells whether the stream can carry another one.
pub(crate) fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> Result<(Answer, bool), Error> {
    let sent = stream.write_all(request).and_then(|()| stream.flush());
    let mut input = Input { stream, buffer: Vec::new(), at: 0 };
    let heard = sent.and_then(|()| input.fill());
    if let Err(error) = heard {
        let unheard = error.kind() != io::ErrorKind::TimedOut;
        return Err(Error { error, unheard });
    }
    let head = loop {
        let head = input.head()?;
        if !(100..200).contains(&head.status) || head.status == 101 {
            break head;
        }
    };
    let read = input.body(&head);
    let complete = matches!(read.end, Ok(true));
    if let (200, Err(error)) = (head.status, read.end) {
        return Err(error.into()); // only a whole answer says that the report was taken
    }
    let reusable = complete && head.keep && input.at == input.buffer.len();
    let retry_after = head.values("retry-after").next().map(str::to_owned);
    Ok((
        Answer {
            status: head.status,
            body: read.bytes,
            warnings: warning_texts(head.values("warning")),
            retry_after,
        },
        reusable,
    ))
}

/// Status and headers.
struct Head {
    status: u16,
    /// Whether the server keeps the connection.
    keep: bool,
    headers: Vec<(String, String)>,
}

impl Head {
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    fn says(&self, name: &str, word: &str) -> bool {
        self.values(name).flat_map(|value| value.split(',')).any(|one| one.trim().eq_ignore_ascii_case(word))
    }
}

/// What was read of a body, and whether that is all of it.
struct Body {
    bytes: Vec<u8>,
    end: io::Result<bool>,
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer has {what}"))
}

/// Reads an answer piece by piece.
struct Input<'a, S> {
    stream: &'a mut S,
    buffer: Vec<u8>,
    at: usize,
}

impl<S: Read> Input<'_, S> {
    /// Waits for more bytes.
    fn fill(&mut self) -> io::Result<()> {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        let mut piece = [0; 8 << 10];
        let count = loop {
            match self.stream.read(&mut piece) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend_from_slice(&piece[..count]);
        Ok(())
    }

    /// Reads up to the end of a line, at most `room` bytes, and takes them off `room`.
    fn line(&mut self, room: &mut usize) -> io::Result<String> {
        let mut seen = 0;
        loop {
            let unread = &self.buffer[self.at..];
            if let Some(end) = unread[seen..].iter().position(|b| *b == b'\n') {
                let end = seen + end;
                *room = room.checked_sub(end + 1).ok_or_else(|| malformed("headers without end"))?;
                let line = unread[..end].strip_suffix(b"\r").unwrap_or(&unread[..end]);
                let line = String::from_utf8_lossy(line).into_owned();
                self.at += end + 1;
                return Ok(line);
            }
            seen = unread.len();
            if seen > *room {
                return Err(malformed("headers without end"));
            }
            self.fill()?;
        }
    }

    fn head(&mut self) -> io::Result<Head> {
        let mut room = MAX_HEAD;
        let first = self.line(&mut room)?;
        let (version, rest) = first.split_once(' ').ok_or_else(|| malformed("no status"))?;
        let status = rest
            .get(..3)
            .and_then(|digits| digits.parse().ok())
            .filter(|status| version.starts_with("HTTP/1.") && (100..1000).contains(status))
            .ok_or_else(|| malformed("no status"))?;
        let mut head = Head { status, keep: false, headers: Vec::new() };
        loop {
            let line = self.line(&mut room)?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                let name = name.trim().to_ascii_lowercase();
                head.headers.push((name, value.trim().to_owned()));
            }
        }
        head.keep = version == "HTTP/1.1" && status != 101 && !head.says("connection", "close");
        Ok(head)
    }

    fn body(&mut self, head: &Head) -> Body {
        let mut bytes = Vec::new();
        let end = if matches!(head.status, 101 | 204 | 304) {
            Ok(true)
        } else if head.says("transfer-encoding", "chunked") {
            self.chunks(&mut bytes)
        } else if let Some(length) = head.values("content-length").next() {
            match length.parse() {
                Ok(length) => self.take(length, &mut bytes),
                Err(_) => Err(malformed("no length")),
            }
        } else {
            self.rest(&mut bytes)
        };
        Body { bytes, end }
    }

    /// Takes `count` bytes. False when there is no room for all of them.
    fn take(&mut self, count: usize, into: &mut Vec<u8>) -> io::Result<bool> {
        let room = MAX_BODY - into.len();
        let mut wanted = count.min(room);
        while wanted > 0 {
            if self.at == self.buffer.len() {
                self.fill()?;
            }
            let piece = wanted.min(self.buffer.len() - self.at);
            into.extend_from_slice(&self.buffer[self.at..self.at + piece]);
            self.at += piece;
            wanted -= piece;
        }
        Ok(count <= room)
    }

    fn chunks(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            let line = self.line(&mut MAX_HEAD.clone())?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(digits, 16).map_err(|_| malformed("a bad chunk"))?;
            if size == 0 {
                break;
            }
            if !self.take(size, into)? {
                return Ok(false);
            }
            if !self.line(&mut MAX_HEAD.clone())?.is_empty() {
                return Err(malformed("a bad chunk"));
            }
        }
        let mut room = MAX_HEAD;
        while !self.line(&mut room)?.is_empty() {} // trailers
        Ok(true)
    }

    /// Takes what comes until the connection ends. It can carry nothing else then.
    fn rest(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        while into.len() < MAX_BODY {
            let unread = self.buffer.len() - self.at;
            if !self.take(unread, into)? {
                break;
            }
            match self.fill() {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(e) => return Err(e),
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that has said everything and then closes, or waits for ever.
    struct Said<'a> {
        text: &'a [u8],
        piece: usize,
    }

    impl Read for Said<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.piece.min(self.text.len()).min(into.len());
            into[..count].copy_from_slice(&self.text[..count]);
            self.text = &self.text[count..];
            Ok(count)
        }
    }

    impl Write for Said<'_> {
        fn write(&mut self, from: &[u8]) -> io::Result<usize> {
            Ok(from.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn ask(text: &str, piece: usize) -> Result<(Answer, bool), Error> {
        let text = text.as_bytes();
        exchange(&mut Said { text, piece }, b"GET / HTTP/1.1\r\n\r\n")
    }

    #[test]
    fn answers_are_read_however_they_are_cut() {
        let cases = [
            ("a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true),
            ("chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\nh\r\n1\r\ni\r\n0\r\nA: b\r\n\r\n", 200, "hi", true),
            ("the end of the connection", "HTTP/1.1 403 No\r\n\r\nhi", 403, "hi", false),
            ("a server that closes", "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", false),
            ("an old server", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", false),
            ("no body", "HTTP/1.1 204 None\r\n\r\n", 204, "", true),
            ("an early answer", "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true),
            ("a switch that nobody asked for", "HTTP/1.1 101 Switch\r\n\r\n", 101, "", false),
            ("a body that ends early after a refusal", "HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\nhi", 403, "hi", false),
            ("plain line ends", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", 200, "hi", true),
            ("more than was announced", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhi", 200, "h", false),
        ];
        for (name, text, status, body, reusable) in cases {
            for piece in [1, 7, 8192] {
                let (answer, again) = ask(text, piece).unwrap();
                let got = (answer.status, String::from_utf8(answer.body).unwrap());
                assert_eq!(got, (status, body.to_owned()), "{name}");
                assert!(again == reusable || piece < 8192, "{name}");
            }
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for text in [
            "SSH-2.0\r\n",
            "HTTP/1.1 OK\r\n\r\n",
            "HTTP/1.1 99 Low\r\n\r\n",
            "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\n",
        ] {
            let error = ask(text, 8192).unwrap_err();
            assert!(!error.unheard, "{text}");
        }
        assert!(ask("", 1).unwrap_err().unheard);
    }

    #[test]
    fn long_answers_are_cut_and_the_connection_is_given_up() {
        let long = "x".repeat(MAX_BODY + 1);
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{long}", long.len());
        let (answer, reusable) = ask(&text, 8192).unwrap();
        assert_eq!((answer.body.len(), reusable), (MAX_BODY, false));
        let headers = format!("HTTP/1.1 200 OK\r\nA: {long}\r\n\r\n");
        assert!(ask(&headers, 8192).is_err());
    }
}
