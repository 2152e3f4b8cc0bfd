// SPDX-License-Identifier: Apache-2.0

//! One request at a time to the endpoint: files, TLS and the kept connection. Decides nothing about
//! when to send.

use std::fs;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::environment::Environment;
use crate::http::{self, Answer, Timed};
use crate::lock;
use crate::log::{cut, MAX_MESSAGE};
use crate::wire::Status;

/// Version of this crate, as it stands in the `User-Agent` header.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

type Connection = StreamOwned<ClientConnection, Timed>;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

/// Ends an attempt from outside: its socket is shut down.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abandon(Arc<Mutex<(bool, Option<TcpStream>)>>);

impl Abandon {
    pub fn now(&self) {
        let mut state = lock(&self.0);
        state.0 = true;
        if let Some(socket) = state.1.take() {
            drop(socket.shutdown(Shutdown::Both));
        }
    }

    /// Makes the socket known. An error when the attempt was abandoned before.
    fn watch(&self, socket: &TcpStream) -> io::Result<()> {
        let mut state = lock(&self.0);
        if state.0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        state.1 = Some(socket.try_clone()?);
        Ok(())
    }
}

/// When an attempt ends.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub deadline: Instant,
    pub abandon: Abandon,
}

pub(crate) struct Transport {
    env: Environment,
    /// Content of the CA file and the configuration that trusts it.
    trusted: Option<(Vec<u8>, Arc<ClientConfig>)>,
    kept: Option<Connection>,
}

impl Transport {
    pub fn new(env: Environment) -> Self {
        Self { env, trusted: None, kept: None }
    }

    /// Sends a request, once more with a new token after 401. D14.
    pub fn send(&mut self, method: Method, body: &str, limits: &Limits) -> Result<Answer, String> {
        let answer = self.once(method, body, limits)?;
        if answer.status == 401 {
            return self.once(method, body, limits);
        }
        Ok(answer)
    }

    fn once(&mut self, method: Method, body: &str, limits: &Limits) -> Result<Answer, String> {
        let config = self.trust()?;
        let token = read_token(&self.env.token_file)?;
        let request = self.request(method, body, &token);
        if let Some(kept) = self.kept.take() {
            match self.exchange(kept, &request, limits) {
                // The server closed it since; it took no notice of this request.
                Err(http::Error { unheard: true, .. }) => {}
                other => return other.map_err(|e| explain(&e.error)),
            }
        }
        let fresh = self.connect(config, limits).map_err(|e| explain(&e))?;
        self.exchange(fresh, &request, limits).map_err(|e| explain(&e.error))
    }

    /// Sends a request over a connection and keeps it if it can be used again.
    fn exchange(
        &mut self,
        mut connection: Connection,
        request: &[u8],
        limits: &Limits,
    ) -> Result<Answer, http::Error> {
        connection.sock.deadline = limits.deadline;
        limits.abandon.watch(&connection.sock.socket).map_err(http::Error::from)?;
        let (answer, reusable) = http::exchange(&mut connection, request)?;
        if reusable {
            self.kept = Some(connection);
        }
        Ok(answer)
    }

    /// The request as it goes over the wire. D19.
    fn request(&self, method: Method, body: &str, token: &str) -> Vec<u8> {
        let endpoint = &self.env.endpoint;
        let (name, rest) = match method {
            Method::Get => ("GET", String::new()),
            Method::Post => {
                ("POST", format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()))
            }
        };
        format!(
            "{name} {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nUser-Agent: milepost-reporter-rust/{VERSION}\r\n{rest}\r\n{body}",
            endpoint.target, endpoint.authority
        )
        .into_bytes()
    }

    /// Reads the CA file, and drops the connection that was made under other roots. D16.
    fn trust(&mut self) -> Result<Arc<ClientConfig>, String> {
        let path = &self.env.ca_file;
        let content = fs::read(path).map_err(|e| format!("reading the CA file {path}: {}", explain(&e)))?;
        if let Some((known, config)) = &self.trusted {
            if *known == content {
                return Ok(Arc::clone(config));
            }
        }
        let mut roots = RootCertStore::empty();
        let found = CertificateDer::pem_slice_iter(&content).map_while(Result::ok);
        let (count, _) = roots.add_parsable_certificates(found);
        if count == 0 {
            return Err(format!("reading the CA file {path}: it holds no certificate"));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| format!("preparing TLS: {e}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let config = Arc::new(config);
        self.kept = None;
        self.trusted = Some((content, Arc::clone(&config)));
        Ok(config)
    }

    /// Opens a connection, directly whatever proxy variables say. D17.
    fn connect(&self, config: Arc<ClientConfig>, limits: &Limits) -> io::Result<Connection> {
        let endpoint = &self.env.endpoint;
        let name = ServerName::try_from(endpoint.host.clone()).map_err(io::Error::other)?;
        let addresses: Vec<SocketAddr> = (endpoint.host.as_str(), endpoint.port).to_socket_addrs()?.collect();
        let socket = connect_any(&addresses, limits.deadline)?;
        socket.set_nodelay(true)?;
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        let timed = Timed { socket, deadline: limits.deadline };
        Ok(StreamOwned::new(session, timed))
    }
}

/// Tries one address after the other; each may use its share of the time that is left.
fn connect_any(addresses: &[SocketAddr], deadline: Instant) -> io::Result<TcpStream> {
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for (tried, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / (addresses.len() - tried) as u32;
        if share.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))) {
            Ok(socket) => return Ok(socket),
            Err(e) => failure = e,
        }
    }
    Err(failure)
}

/// An error without the number that the system gives it.
fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no answer in time".to_owned(),
        _ => cut(&error.to_string(), MAX_MESSAGE),
    }
}

/// Reads the token anew, because it is replaced before it expires. D15.
fn read_token(path: &str) -> Result<String, String> {
    let content = fs::read(path).map_err(|e| format!("reading the token {path}: {}", explain(&e)))?;
    token_text(&content).ok_or_else(|| format!("reading the token {path}: it holds no token"))
}

/// Removes blanks around a token and refuses what cannot stand in a header.
fn token_text(content: &[u8]) -> Option<String> {
    let token = std::str::from_utf8(content).ok()?.trim();
    let fit = !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic());
    fit.then(|| token.to_owned())
}

/// What becomes of a report after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The server has it.
    Taken,
    /// To be sent again.
    Failed,
    /// To be dropped.
    Refused,
}

impl Outcome {
    /// Decides by the status. 401 counts as failed: the token was read again already. D13, D14.
    pub fn of(status: u16) -> Self {
        match status {
            200 => Self::Taken,
            401 | 408 | 429 | 500.. => Self::Failed,
            _ => Self::Refused,
        }
    }
}

/// The server's own words about a refusal. D14.
pub(crate) fn server_message(body: &[u8]) -> String {
    let status: Option<Status> = serde_json::from_slice(body).ok();
    let message = status.and_then(|s| s.message).unwrap_or_default();
    cut(&message, MAX_MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::rows;

    #[test]
    fn statuses_decide_what_becomes_of_a_report() {
        rows("statuses", |row| {
            let want = match row["want"].as_str().unwrap() {
                "success" => Outcome::Taken,
                "retry" | "reauthenticate" => Outcome::Failed,
                _ => Outcome::Refused,
            };
            assert_eq!(Outcome::of(row["status"].as_u64().unwrap() as u16), want);
        });
    }

    #[test]
    fn messages_of_the_server_are_read() {
        rows("messages", |row| {
            let body = row["body"].as_str().unwrap();
            assert_eq!(server_message(body.as_bytes()), row["want"].as_str().unwrap());
        });
    }

    #[test]
    fn tokens_are_read() {
        rows("tokens", |row| {
            let file = row["file"].as_str().unwrap();
            assert_eq!(token_text(file.as_bytes()).as_deref(), row["want"].as_str());
        });
    }

    #[test]
    fn an_abandoned_attempt_takes_no_socket() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let abandon = Abandon::default();
        abandon.watch(&socket).unwrap();
        abandon.now();
        assert!(abandon.watch(&socket).is_err());
    }
}
