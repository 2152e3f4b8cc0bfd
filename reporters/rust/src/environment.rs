// SPDX-License-Identifier: Apache-2.0

//! Where reports go, and whether this process sends them.

/// Variables that the controller sets in every container of a training node.
const URL: &str = "KUBEFLOW_TRAINER_SERVER_URL";
const CA_CERT: &str = "KUBEFLOW_TRAINER_SERVER_CA_CERT";
const TOKEN: &str = "KUBEFLOW_TRAINER_SERVER_TOKEN";

/// They were used before a release; seeing only them means that the program expects too much.
const OLD_NAMES: [&str; 3] =
    ["KUBEFLOW_TRAINER_STATUS_URL", "KUBEFLOW_TRAINER_STATUS_CA_CERT", "KUBEFLOW_TRAINER_STATUS_TOKEN"];

const NODE_RANK: &str = "PET_NODE_RANK";
const LOCAL_RANK: &str = "LOCAL_RANK";

/// They name this process among all of a job, the most telling first. D2.
const RANKS: [&str; 6] =
    ["RANK", NODE_RANK, "OMPI_COMM_WORLD_RANK", "JAX_PROCESS_ID", "SLURM_PROCID", "JOB_COMPLETION_INDEX"];

const HTTPS_PORT: u16 = 443;

/// Where reports go.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub endpoint: Endpoint,
    pub ca_file: String,
    pub token_file: String,
}

/// The parts of the URL that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Name or address, without brackets.
    pub host: String,
    pub port: u16,
    /// Value of the Host header.
    pub authority: String,
    /// Path and query.
    pub target: String,
}

impl Endpoint {
    /// Reads absolute https URLs alone: a token does not travel in the clear. D1.
    pub fn parse(url: &str) -> Option<Self> {
        let scheme = url.get(..8)?;
        if !scheme.eq_ignore_ascii_case("https://") || url.contains(|c: char| c <= ' ' || c == '\u{7f}') {
            return None;
        }
        let rest = url[8..].split('#').next()?;
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = split_port(authority)?;
        if host.is_empty() || rustls::pki_types::ServerName::try_from(host).is_err() {
            return None;
        }
        Some(Self {
            host: host.to_owned(),
            port,
            authority: authority.to_owned(),
            target: if target.starts_with('/') { target.to_owned() } else { format!("/{target}") },
        })
    }
}

/// Takes the port off a host, and the brackets off an IPv6 literal.
fn split_port(authority: &str) -> Option<(&str, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(literal) => literal.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    match port.strip_prefix(':') {
        None if port.is_empty() => Some((host, HTTPS_PORT)),
        Some("") => Some((host, HTTPS_PORT)),
        Some(digits) => Some((host, digits.parse().ok()?)),
        None => None,
    }
}

/// Finds the endpoint, or says what is missing or unusable. D1.
pub(crate) fn read(get: impl Fn(&str) -> Option<String>) -> Result<Environment, String> {
    let value = |name: &str| get(name).filter(|text| !text.is_empty());
    let (url, ca_file, token_file) = (value(URL), value(CA_CERT), value(TOKEN));
    let endpoint = url.as_deref().and_then(Endpoint::parse);
    let mut problems = Vec::new();
    for (name, found) in [(URL, &url), (CA_CERT, &ca_file), (TOKEN, &token_file)] {
        if found.is_none() {
            problems.push(format!("{name} is not set"));
        }
    }
    if url.is_some() && endpoint.is_none() {
        problems.push(format!("{URL} is no https URL"));
    }
    if url.is_none() && ca_file.is_none() && token_file.is_none() {
        for name in OLD_NAMES {
            if value(name).is_some() {
                problems.push(format!("{name} is set but no longer read"));
            }
        }
    }
    match (endpoint, ca_file, token_file) {
        (Some(endpoint), Some(ca_file), Some(token_file)) => {
            Ok(Environment { endpoint, ca_file, token_file })
        }
        _ => Err(problems.join(", ")),
    }
}

/// Says why another process reports, or nothing when this one does. D2.
pub(crate) fn other_rank(get: impl Fn(&str) -> Option<String>, option: Option<u64>) -> Option<String> {
    if let Some(rank) = option {
        return (rank != 0).then(|| format!("the option says rank {rank}"));
    }
    let number = |name: &str| get(name).as_deref().and_then(whole_number);
    let (name, rank) = RANKS.iter().find_map(|name| Some((*name, number(name)?)))?;
    if rank != "0" {
        return Some(format!("{name} says rank {rank}"));
    }
    match number(LOCAL_RANK) {
        Some(local) if name == NODE_RANK && local != "0" => {
            Some(format!("{LOCAL_RANK} says rank {local} of the first node"))
        }
        _ => None,
    }
}

/// Reads a number ≥ 0 of any size, without leading zeros.
pub(crate) fn whole_number(text: &str) -> Option<String> {
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = text.trim_start_matches('0');
    Some(if digits.is_empty() { "0" } else { digits }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(host: &str, port: u16, authority: &str, target: &str) -> Option<Endpoint> {
        Some(Endpoint { host: host.into(), port, authority: authority.into(), target: target.into() })
    }

    #[test]
    fn urls_are_split_as_requests_need_them() {
        let cases = [
            ("https://h.example/p?q=1#f", endpoint("h.example", 443, "h.example", "/p?q=1")),
            ("HTTPS://h:8443", endpoint("h", 8443, "h:8443", "/")),
            ("https://[fd00::1]:10443/p", endpoint("fd00::1", 10443, "[fd00::1]:10443", "/p")),
            ("https://user@h/p", endpoint("h", 443, "h", "/p")),
            ("https://h:/p", endpoint("h", 443, "h:", "/p")),
            ("https://h?q", endpoint("h", 443, "h", "/?q")),
            ("https://h:99999/p", None),
            ("https://[fd00::1/p", None),
            ("https://[fd00::1]x/p", None),
            ("https://h/a b", None),
            ("https://é", None),
            ("https", None),
        ];
        for (url, want) in cases {
            assert_eq!(Endpoint::parse(url), want, "{url}");
        }
    }
}
