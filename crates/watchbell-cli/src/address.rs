//! The forms of an address on the command line: `host:port`, `[v6]:port` and `unix:PATH`.

use std::error;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use watchbell::net::Address;

/// The longest path of a Unix-domain socket, in bytes: `sun_path` of [unix(7)] less its closing
/// NUL.
///
/// [unix(7)]: https://man7.org/linux/man-pages/man7/unix.7.html
pub const LONGEST_PATH: usize = 107;

/// One `--listen`: the text that was given and the addresses that it stands for.
///
/// A host name stands for every address that it resolves to, in the resolver's order: clients that
/// use the same name may try any of them. With port 0 each of these gets a port of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// As it was given.
    pub text: OsString,
    /// At least one; no two alike.
    pub addresses: Vec<Address>,
}

/// Why a text is no address.
#[derive(Debug)]
#[non_exhaustive]
pub enum AddressError {
    /// There is no text.
    Empty,
    /// A NUL byte, which neither a host name nor a path can hold.
    Nul,
    /// Bytes that are no UTF-8 in a host name.
    NotText,
    /// No colon, or nothing after it.
    NoPort,
    /// Nothing before the colon.
    NoHost,
    /// The port is no decimal number from 0 to 65535.
    BadPort,
    /// An IPv6 address without its brackets, or with only one.
    Brackets,
    /// What the brackets hold is no IPv6 address.
    BadIpv6,
    /// A scope by the name of an interface.
    Scope,
    /// A host that ends in a number and is no IPv4 address of four parts. The resolver would take
    /// `1` for `0.0.0.1`.
    BadIpv4,
    /// `*`, which other programs take for every address.
    Star,
    /// A URL.
    Scheme,
    /// Several addresses with commas between them.
    Several,
    /// `unix:` in capitals.
    UpperCase,
    /// A path without `unix:` before it.
    BarePath(String),
    /// `unix:` and nothing else.
    NoPath,
    /// The path is longer than [`LONGEST_PATH`]; its length in bytes.
    LongPath(usize),
    /// A path that begins with `@`, which is how other programs write abstract names.
    AtSign,
    /// A path that begins with `~`, which the shell expands only at the beginning of a word.
    Tilde,
    /// The host name resolves to nothing.
    Unresolved(io::Error),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressError::Empty => f.write_str("the address is empty"),
            AddressError::Nul => f.write_str("the address holds a NUL byte"),
            AddressError::NotText => f.write_str("the host name is not UTF-8"),
            AddressError::NoPort => f.write_str("no port: write host:port or unix:PATH"),
            AddressError::NoHost => {
                f.write_str("no host before the port: 0.0.0.0 or [::] stand for every address")
            }
            AddressError::BadPort => f.write_str("the port is not a number from 0 to 65535"),
            AddressError::Brackets => f.write_str("an IPv6 address is written [address]:port"),
            AddressError::BadIpv6 => f.write_str("no IPv6 address in the brackets"),
            AddressError::Scope => {
                f.write_str("the scope after % is the number of an interface: [fe80::1%2]:7007")
            }
            AddressError::BadIpv4 => {
                f.write_str("the host is a number, and no IPv4 address of four from 0 to 255")
            }
            AddressError::Star => {
                f.write_str("* is no host: 0.0.0.0 or [::] stand for every address")
            }
            AddressError::Scheme => {
                f.write_str("write host:port or unix:PATH without a scheme and slashes")
            }
            AddressError::Several => f.write_str("one address a --listen, which may be repeated"),
            AddressError::UpperCase => f.write_str("unix: is written in lower case"),
            AddressError::BarePath(path) => {
                write!(f, "no host and port: for a Unix socket write unix:{path}")
            }
            AddressError::NoPath => f.write_str("no path after unix:"),
            AddressError::LongPath(length) => {
                write!(f, "the path has {length} bytes, a Unix socket's at most {LONGEST_PATH}")
            }
            AddressError::AtSign => {
                f.write_str("abstract names are not served; write unix:./@ for a file of that name")
            }
            AddressError::Tilde => {
                f.write_str("~ is not expanded after unix: write the path out, or unix:./~ for it")
            }
            AddressError::Unresolved(_) => f.write_str("the host name does not resolve"),
        }
    }
}

impl error::Error for AddressError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            AddressError::Unresolved(error) => Some(error),
            _ => None,
        }
    }
}

/// Reads one address, resolving a host name.
///
/// # Errors
///
/// [`AddressError`] says what is wrong with the text.
///
/// # Examples
///
/// ```
/// use watchbell_cli::address::parse;
///
/// let endpoint = parse("[::1]:7007".as_ref())?;
/// assert_eq!(endpoint.addresses[0].to_string(), "[::1]:7007");
/// # Ok::<(), watchbell_cli::address::AddressError>(())
/// ```
pub fn parse(text: &OsStr) -> Result<Endpoint, AddressError> {
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Err(AddressError::Empty);
    }
    if bytes.contains(&0) {
        return Err(AddressError::Nul);
    }
    if is_url(bytes) {
        return Err(AddressError::Scheme);
    }
    let addresses = match bytes.strip_prefix(b"unix:") {
        Some(path) => vec![unix(path)?],
        None => inet(text.to_str().ok_or(AddressError::NotText)?)?,
    };
    Ok(Endpoint { text: text.to_owned(), addresses })
}

/// Whether the text begins with the scheme of a URL.
fn is_url(text: &[u8]) -> bool {
    let end = text.windows(3).position(|it| it == b"://").unwrap_or(0);
    end > 0 && text[..end].iter().all(u8::is_ascii_alphanumeric)
}

fn unix(path: &[u8]) -> Result<Address, AddressError> {
    match path {
        [] => Err(AddressError::NoPath),
        [b'@', ..] => Err(AddressError::AtSign),
        [b'~', rest @ ..] if rest.contains(&b'/') => Err(AddressError::Tilde),
        _ if path.len() > LONGEST_PATH => Err(AddressError::LongPath(path.len())),
        _ => Ok(Address::Unix(PathBuf::from(OsString::from_vec(path.to_vec())))),
    }
}

fn inet(text: &str) -> Result<Vec<Address>, AddressError> {
    if text.starts_with(['/', '.']) && text.contains('/') {
        return Err(AddressError::BarePath(text.to_owned()));
    }
    if text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("unix:")) {
        return Err(AddressError::UpperCase);
    }
    if text.contains(',') {
        return Err(AddressError::Several);
    }
    let (host, port) = text.rsplit_once(':').ok_or(AddressError::NoPort)?;
    if text.starts_with('[') {
        return ipv6(text).map(|address| vec![address]);
    }
    match host {
        "" => return Err(AddressError::NoHost),
        "*" => return Err(AddressError::Star),
        _ if host.contains([':', '[', ']']) => return Err(AddressError::Brackets),
        _ => {}
    }
    let port = number(port)?;
    match host.parse::<IpAddr>() {
        Ok(ip) => Ok(vec![SocketAddr::new(ip, port).into()]),
        Err(_) if ends_in_a_number(host) => Err(AddressError::BadIpv4),
        Err(_) => resolve(host, port),
    }
}

/// `[v6]:port`, with a numeric scope where there is one: `[fe80::1%2]:7007`.
fn ipv6(text: &str) -> Result<Address, AddressError> {
    let (ip, rest) = text.rsplit_once(']').ok_or(AddressError::Brackets)?;
    let port = rest.strip_prefix(':').ok_or(AddressError::NoPort)?;
    number(port)?;
    let ip = &ip[1..];
    let (unscoped, scope) = ip.split_once('%').map_or((ip, None), |(ip, it)| (ip, Some(it)));
    unscoped.parse::<Ipv6Addr>().map_err(|_| AddressError::BadIpv6)?;
    if scope.is_some_and(|scope| scope.parse::<u32>().is_err()) {
        return Err(AddressError::Scope);
    }
    let address: SocketAddr = text.parse().map_err(|_| AddressError::BadIpv6)?;
    Ok(address.into())
}

/// Whether the last part of a host is a number, decimal or hexadecimal: no top-level domain is.
fn ends_in_a_number(host: &str) -> bool {
    let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or_default();
    let is_decimal = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let hexadecimal = last.strip_prefix("0x").or(last.strip_prefix("0X"));
    is_decimal || hexadecimal.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A port in digits alone: `parse` would take a sign.
fn number(port: &str) -> Result<u16, AddressError> {
    if port.is_empty() {
        return Err(AddressError::NoPort);
    }
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AddressError::BadPort);
    }
    port.parse().map_err(|_| AddressError::BadPort)
}

/// Every address that the resolver knows for the name; it may name one several times.
fn resolve(host: &str, port: u16) -> Result<Vec<Address>, AddressError> {
    let mut addresses = Vec::new();
    for address in (host, port).to_socket_addrs().map_err(AddressError::Unresolved)? {
        let address = Address::from(address);
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        let error = io::Error::new(io::ErrorKind::NotFound, "it has no address");
        return Err(AddressError::Unresolved(error));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests;
