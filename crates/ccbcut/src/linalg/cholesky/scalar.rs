//! What a factor is stored in, and where.

use faer::traits::RealField;

use crate::simd::{self, Lanes};

/// Bytes that come from memory together.
const LINE_BYTES: usize = 64;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A number of a factor on its way into a sum of `U`s.
pub trait Meets<U>: Sized {
    /// The number.
    fn meet(self) -> U;
    /// Many of them, if nothing has to be done for it.
    fn same(values: &[Self]) -> Option<&[U]>;
}

/// `f32` or `f64`: what the factor is stored in.
pub trait Scalar:
    sealed::Sealed
    + Meets<Self>
    + Meets<f64>
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
        impl Meets<Self> for $number {
            #[inline(always)]
            fn meet(self) -> Self {
                self
            }
            #[inline(always)]
            fn same(values: &[Self]) -> Option<&[Self]> {
                Some(values)
            }
        }

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

impl Meets<f64> for f32 {
    #[inline(always)]
    fn meet(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn same(_: &[Self]) -> Option<&[f64]> {
        None
    }
}

/// Brings numbers of a block into the cache of the core, where what it holds has room: read one after the other, once, they
/// come from memory at full speed; the products read them in another order, and some more than once.
pub(super) fn bring_block_near<T: Scalar>(values: &[T]) {
    let sum = simd::widest(
        #[inline(always)]
        || one_of_each_line(values),
    );
    std::hint::black_box(sum);
}

#[inline(always)]
fn one_of_each_line<T: Scalar>(values: &[T]) -> T {
    const LINES: usize = 8;
    let step = LINE_BYTES / size_of::<T>();
    let mut sums = [T::default(); LINES];
    for lines in values.chunks_exact(LINES * step) {
        for (l, sum) in sums.iter_mut().enumerate() {
            *sum += lines[l * step];
        }
    }
    sums.iter().fold(T::default(), |a, &b| a + b)
}
