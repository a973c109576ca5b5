//! What people have in hand where an address is needed.

use super::Address;
use std::borrow::Cow;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::{Path, PathBuf};

/// What names an [`Address`]: one itself, a [`SocketAddr`], a pair of host and port, a text such as
/// `127.0.0.1:7007` or `unix:/run/echo`, or the path of a Unix-domain socket.
///
/// A reference to any of them does as well. `&Address` is the cheap one: nothing is read or copied.
///
/// No name is looked up, for that blocks: resolve it first, by
/// [`ToSocketAddrs`](std::net::ToSocketAddrs), on a thread that may wait.
///
/// ```
/// use std::net::Ipv6Addr;
/// use std::path::Path;
/// use watchbell::net::{Address, ToAddress};
///
/// let loopback = Address::Inet("[::1]:80".parse().unwrap());
/// assert_eq!(*(Ipv6Addr::LOCALHOST, 80).to_address()?, loopback);
/// assert_eq!(*"[::1]:80".to_address()?, loopback);
/// assert_eq!(*loopback.to_address()?, loopback);
/// assert_eq!(Path::new("/run/echo").to_address()?, "unix:/run/echo".to_address()?);
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ToAddress: sealed::Sealed {
    /// The address.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a text that is none, with a sentence that says what would be one
    /// ([`AddressError`](super::AddressError)).
    ///
    /// ```
    /// # use std::io::ErrorKind;
    /// # use watchbell::net::ToAddress;
    /// let refused = "localhost:7007".to_address().unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    /// ```
    fn to_address(&self) -> io::Result<Cow<'_, Address>>;
}

mod sealed {
    use super::*;

    /// Nobody else's types are addresses.
    pub trait Sealed {}

    impl<T: Sealed + ?Sized> Sealed for &T {}
    impl Sealed for Address {}
    impl Sealed for SocketAddr {}
    impl Sealed for SocketAddrV4 {}
    impl Sealed for SocketAddrV6 {}
    impl<I: Into<IpAddr> + Copy> Sealed for (I, u16) {}
    impl Sealed for str {}
    impl Sealed for String {}
    impl Sealed for Path {}
    impl Sealed for PathBuf {}
}

impl<T: ToAddress + ?Sized> ToAddress for &T {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        (**self).to_address()
    }
}

impl ToAddress for Address {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        Ok(Cow::Borrowed(self))
    }
}

impl ToAddress for SocketAddr {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        Ok(Cow::Owned(Address::Inet(*self)))
    }
}

impl ToAddress for SocketAddrV4 {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        Ok(Cow::Owned(Address::Inet((*self).into())))
    }
}

impl ToAddress for SocketAddrV6 {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        Ok(Cow::Owned(Address::Inet((*self).into())))
    }
}

impl<I: Into<IpAddr> + Copy> ToAddress for (I, u16) {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        let (host, port) = *self;
        Ok(Cow::Owned(Address::Inet(SocketAddr::new(host.into(), port))))
    }
}

impl ToAddress for str {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        Ok(Cow::Owned(self.parse()?))
    }
}

impl ToAddress for String {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        self.as_str().to_address()
    }
}

impl ToAddress for Path {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        Ok(Cow::Owned(Address::Unix(self.to_owned())))
    }
}

impl ToAddress for PathBuf {
    fn to_address(&self) -> io::Result<Cow<'_, Address>> {
        self.as_path().to_address()
    }
}
