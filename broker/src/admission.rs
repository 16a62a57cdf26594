//! Which connections are let in: so many at once, and so many from one address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// Why a connection is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    #[error("broker.limits.connections are open")]
    All,
    #[error("broker.limits.connections_per_address are open from there")]
    Address,
}

impl Full {
    /// The setting that says so.
    pub(crate) fn limit(self) -> &'static str {
        match self {
            Self::All => "connections",
            Self::Address => "connections_per_address",
        }
    }
}

/// Counts connections.
#[derive(Debug)]
pub(crate) struct Admission {
    most: u32,
    most_per_address: u32,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: u32,
    /// Only addresses with a connection.
    by_address: BTreeMap<IpAddr, u32>,
}

/// The place of one connection, free again once dropped.
#[derive(Debug)]
pub(crate) struct Place {
    admission: Arc<Admission>,
    address: IpAddr,
}

impl Admission {
    pub(crate) fn new(most: u32, most_per_address: u32) -> Arc<Self> {
        Arc::new(Self { most, most_per_address, open: Mutex::default() })
    }

    /// A place for a connection from `address`.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Place, Full> {
        let address = network(address);
        let mut open = self.open.lock();
        if open.all >= self.most {
            return Err(Full::All);
        }
        let here = open.by_address.get(&address).copied().unwrap_or(0);
        if here >= self.most_per_address {
            return Err(Full::Address);
        }
        open.all += 1;
        open.by_address.insert(address, here + 1);
        Ok(Place { admission: self.clone(), address })
    }
}

/// Who has one address of IPv6 has all of its /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !0 << 64).into(),
        v4 => v4,
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.admission.open.lock();
        open.all -= 1;
        let left = open.by_address.get(&self.address).map_or(0, |here| here - 1);
        match left {
            0 => open.by_address.remove(&self.address),
            left => open.by_address.insert(self.address, left),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let admission = Admission::new(9, 1);
        let admit = |text: &str| admission.admit(text.parse().unwrap());
        let _places = (admit("2001:db8::1").unwrap(), admit("2001:db8:0:1::1").unwrap(), admit("1.1.1.1").unwrap());
        assert_eq!(admit("2001:db8::2").unwrap_err(), Full::Address);
        assert_eq!(admit("::ffff:1.1.1.1").unwrap_err(), Full::Address, "the same address by another protocol");
    }

    #[test]
    fn places_are_given_back_and_one_address_does_not_take_all() {
        let admission = Admission::new(3, 2);
        let [one, two, three] = [1u8, 2, 3].map(|last| IpAddr::from([10, 0, 0, last]));
        let first = admission.admit(one).unwrap();
        let second = admission.admit(one).unwrap();
        assert_eq!(admission.admit(one).unwrap_err(), Full::Address);
        let third = admission.admit(two).unwrap();
        assert_eq!(admission.admit(three).unwrap_err(), Full::All);
        drop((second, third));
        let again = admission.admit(one).unwrap();
        assert_eq!(admission.admit(one).unwrap_err(), Full::Address);
        drop((first, again));
        assert!(admission.open.lock().by_address.is_empty(), "addresses are forgotten");
    }
}
