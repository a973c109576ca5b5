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
    /// `unix:` and nothing else.
    NoPath,
    /// The path is longer than [`LONGEST_PATH`]; its length in bytes.
    LongPath(usize),
    /// A path that begins with `@`, which is how other programs write abstract names.
    AtSign,
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
            AddressError::NoPath => f.write_str("no path after unix:"),
            AddressError::LongPath(length) => {
                write!(f, "the path has {length} bytes, a Unix socket's at most {LONGEST_PATH}")
            }
            AddressError::AtSign => {
                f.write_str("abstract names are not served; write unix:./@ for a file of that name")
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
    let addresses = match bytes.strip_prefix(b"unix:") {
        Some(path) => vec![unix(path)?],
        None => inet(text.to_str().ok_or(AddressError::NotText)?)?,
    };
    Ok(Endpoint { text: text.to_owned(), addresses })
}

fn unix(path: &[u8]) -> Result<Address, AddressError> {
    match path {
        [] => Err(AddressError::NoPath),
        [b'@', ..] => Err(AddressError::AtSign),
        _ if path.len() > LONGEST_PATH => Err(AddressError::LongPath(path.len())),
        _ => Ok(Address::Unix(PathBuf::from(OsString::from_vec(path.to_vec())))),
    }
}

fn inet(text: &str) -> Result<Vec<Address>, AddressError> {
    let (host, port) = text.rsplit_once(':').ok_or(AddressError::NoPort)?;
    if text.starts_with('[') {
        return ipv6(text).map(|address| vec![address]);
    }
    match host {
        "" => return Err(AddressError::NoHost),
        _ if host.contains([':', '[', ']']) => return Err(AddressError::Brackets),
        _ => {}
    }
    let port = number(port)?;
    match host.parse::<IpAddr>() {
        Ok(ip) => Ok(vec![SocketAddr::new(ip, port).into()]),
        Err(_) => resolve(host, port),
    }
}

/// `[v6]:port`, with a numeric scope where there is one: `[fe80::1%2]:7007`.
fn ipv6(text: &str) -> Result<Address, AddressError> {
    let (ip, rest) = text.rsplit_once(']').ok_or(AddressError::Brackets)?;
    let port = rest.strip_prefix(':').ok_or(AddressError::NoPort)?;
    number(port)?;
    let ip = &ip[1..];
    let unscoped = ip.split('%').next().unwrap_or_default();
    unscoped.parse::<Ipv6Addr>().map_err(|_| AddressError::BadIpv6)?;
    let address: SocketAddr = text.parse().map_err(|_| AddressError::BadIpv6)?;
    Ok(address.into())
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
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parsed(text: &str) -> Vec<String> {
        let endpoint = parse(text.as_ref()).unwrap();
        endpoint.addresses.iter().map(ToString::to_string).collect()
    }

    fn refused(text: impl AsRef<OsStr>) -> AddressError {
        parse(text.as_ref()).expect_err("no address")
    }

    #[test]
    fn the_three_forms_are_read() {
        assert_eq!(parsed("127.0.0.1:7007"), ["127.0.0.1:7007"]);
        assert_eq!(parsed("0.0.0.0:0"), ["0.0.0.0:0"]);
        assert_eq!(parsed("[::1]:65535"), ["[::1]:65535"]);
        assert_eq!(parsed("[fe80::1%2]:80"), ["[fe80::1%2]:80"]);
        assert_eq!(parsed("unix:/run/echo.sock"), ["unix:/run/echo.sock"]);
        assert_eq!(parsed("unix:relative:7"), ["unix:relative:7"]);
    }

    #[test]
    fn a_host_name_stands_for_all_that_it_resolves_to() {
        let addresses = parsed("localhost:7007");
        assert!(addresses.contains(&"127.0.0.1:7007".to_owned()), "{addresses:?}");
        let mut distinct = addresses.clone();
        distinct.dedup();
        assert_eq!(distinct, addresses);
    }

    #[test]
    fn a_path_may_be_any_bytes_up_to_the_longest() {
        let longest = format!("unix:{}", "x".repeat(LONGEST_PATH));
        assert_eq!(parsed(&longest), [longest.as_str()]);
        let odd = OsStr::from_bytes(b"unix:/tmp/\xff");
        assert_eq!(parse(odd).unwrap().addresses.len(), 1);
    }

    #[test]
    fn each_bad_form_is_refused_for_its_own_reason() {
        assert!(matches!(refused(""), AddressError::Empty));
        assert!(matches!(refused("local\0host:1"), AddressError::Nul));
        assert!(matches!(refused("unix:/tmp/\0"), AddressError::Nul));
        assert!(matches!(refused(OsStr::from_bytes(b"\xff:1")), AddressError::NotText));
        assert!(matches!(refused("localhost"), AddressError::NoPort));
        assert!(matches!(refused("127.0.0.1:"), AddressError::NoPort));
        assert!(matches!(refused("[::1]"), AddressError::NoPort));
        assert!(matches!(refused("[::1]:"), AddressError::NoPort));
        assert!(matches!(refused(":7007"), AddressError::NoHost));
        for port in ["65536", "-1", "+1", "http", "7 ", "0x1", "99999999999999999999"] {
            assert!(
                matches!(refused(format!("127.0.0.1:{port}")), AddressError::BadPort),
                "{port}"
            );
            assert!(matches!(refused(format!("[::1]:{port}")), AddressError::BadPort), "{port}");
        }
        assert!(matches!(refused("::1:7007"), AddressError::Brackets));
        assert!(matches!(refused("[::1:7007"), AddressError::Brackets));
        assert!(matches!(refused("::1]:7007"), AddressError::Brackets));
        assert!(matches!(refused("[localhost]:7007"), AddressError::BadIpv6));
        assert!(matches!(refused("[127.0.0.1]:7007"), AddressError::BadIpv6));
        assert!(matches!(refused("[::1%lo]:7007"), AddressError::BadIpv6));
        assert!(matches!(refused("unix:"), AddressError::NoPath));
        assert!(matches!(refused("unix:@name"), AddressError::AtSign));
        let long = format!("unix:{}", "x".repeat(LONGEST_PATH + 1));
        assert!(matches!(refused(long), AddressError::LongPath(108)));
        assert!(matches!(refused("no such host:7007"), AddressError::Unresolved(_)));
    }
}
