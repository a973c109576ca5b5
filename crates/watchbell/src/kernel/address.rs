//! Addresses of sockets, and their texts.

use std::error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a socket is bound, or whom it talks to.
///
/// Its text is what [`Display`](fmt::Display) writes and [`FromStr`] reads: `127.0.0.1:80`,
/// `[::1]:80`, `unix:/path` and, of the abstract namespace, `unix:@name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Address {
    /// An Internet address and port.
    Inet(SocketAddr),
    /// The path of a Unix-domain socket.
    Unix(PathBuf),
    /// A name in Linux's abstract socket namespace, without its leading zero byte; see unix(7).
    Abstract(Vec<u8>),
    /// No address: what an unbound Unix-domain socket, most clients among them, has.
    Unnamed,
    /// A peer's Unix-domain path of 108 bytes, which has no closing NUL (unix(7), BUGS). It is not
    /// told, and cannot be connected or sent to.
    Untold,
}

impl Address {
    /// The Internet address and port; `None` of a Unix-domain socket.
    ///
    /// ```
    /// # use watchbell::net::Address;
    /// let address: Address = "[::1]:80".parse()?;
    /// assert_eq!(address.as_inet().map(|inet| inet.is_ipv6()), Some(true));
    /// # Ok::<(), watchbell::net::AddressError>(())
    /// ```
    pub fn as_inet(&self) -> Option<SocketAddr> {
        match self {
            Address::Inet(inet) => Some(*inet),
            _ => None,
        }
    }

    /// The port; `None` of a Unix-domain socket.
    ///
    /// ```
    /// # use watchbell::net::Address;
    /// assert_eq!("[::1]:80".parse::<Address>()?.port(), Some(80));
    /// assert_eq!("unix:/run/echo".parse::<Address>()?.port(), None);
    /// # Ok::<(), watchbell::net::AddressError>(())
    /// ```
    pub fn port(&self) -> Option<u16> {
        self.as_inet().map(|inet| inet.port())
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address::Inet(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Inet(address) => write!(f, "{address}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Abstract(name) => write!(f, "unix:@{}", name.escape_ascii()),
            Address::Unnamed => f.write_str("unix:(unnamed)"),
            Address::Untold => f.write_str("unix:(untold)"),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    /// Reads an address, and looks no name up: that blocks. Names are
    /// [`ToSocketAddrs`](std::net::ToSocketAddrs)' to resolve, on a thread that may wait.
    ///
    /// Of `unix:@name` the name is taken as it is written, without escapes.
    ///
    /// # Errors
    ///
    /// [`AddressError`] if the text has none of the four forms. The path or the name is not looked
    /// at; [bind(2)](https://man7.org/linux/man-pages/man2/bind.2.html) does that.
    ///
    /// ```
    /// # use watchbell::net::Address;
    /// assert_eq!("unix:/run/echo".parse(), Ok(Address::Unix("/run/echo".into())));
    /// assert_eq!("unix:@echo".parse(), Ok(Address::Abstract(b"echo".to_vec())));
    /// assert!("localhost:80".parse::<Address>().is_err());
    /// # Ok::<(), watchbell::net::AddressError>(())
    /// ```
    fn from_str(text: &str) -> Result<Address, AddressError> {
        let Some(unix) = text.strip_prefix("unix:") else {
            let inet = text.parse::<SocketAddr>();
            return inet.map(Address::Inet).map_err(|_| AddressError(text.to_owned()));
        };
        match unix.strip_prefix('@') {
            // No address is the text of a socket without one, nor of one that is not told.
            _ if matches!(unix, "" | "@" | "(unnamed)" | "(untold)") => {
                Err(AddressError(text.to_owned()))
            }
            Some(name) => Ok(Address::Abstract(name.as_bytes().to_vec())),
            None => Ok(Address::Unix(unix.into())),
        }
    }
}

/// A text that is no [`Address`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AddressError(text) = self;
        write!(
            f,
            "'{}' is no address: write 127.0.0.1:80, [::1]:80, unix:/path or unix:@name (host \
             names are not looked up)",
            text.escape_debug()
        )
    }
}

impl error::Error for AddressError {}

impl From<AddressError> for io::Error {
    fn from(error: AddressError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, error)
    }
}
