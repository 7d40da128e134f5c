//! What a factor is stored in, and where.

use faer::traits::RealField;

use crate::simd::Lanes;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: what the factor is stored in.
pub trait Scalar:
    sealed::Sealed
    + RealField
    + Lanes
    + Default
    + Send
    + Sync
    + std::ops::AddAssign
    + std::ops::MulAssign
    + 'static
{
    /// Rounds from double precision.
    fn from_f64(value: f64) -> Self;
    /// Widens to double precision.
    fn to_f64(self) -> f64;

    /// Weights below this share of the largest are dropped: their products would fall below the smallest normal
    /// number, where arithmetic is slow and inexact.
    const NEGLIGIBLE: f64;

    /// Takes the memory of an earlier factor, if it was one of these numbers.
    fn take_room(room: &mut Room) -> Vec<Self>;
    /// The memory of a factor of these numbers.
    fn room(values: Vec<Self>) -> Room;
}

/// The memory of a factor that is done with. The next one of the same graph may have it: tens of megabytes that come as fresh
/// pages take a fifth of the time of a factorisation.
#[derive(Debug, Default)]
pub enum Room {
    /// None is kept.
    #[default]
    None,
    /// Of a factor in single precision.
    Single(Vec<f32>),
    /// Of one in double precision.
    Double(Vec<f64>),
}

macro_rules! scalar {
    ($number:ty, $room:ident, $negligible:literal) => {
        impl Scalar for $number {
            const NEGLIGIBLE: f64 = $negligible;

            fn take_room(room: &mut Room) -> Vec<Self> {
                if let Room::$room(values) = std::mem::take(room) { values } else { Vec::new() }
            }
            fn room(values: Vec<Self>) -> Room {
                Room::$room(values)
            }

            fn from_f64(value: f64) -> Self {
                value as $number
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}

scalar!(f32, Single, 1e-17);
scalar!(f64, Double, 1e-140);
