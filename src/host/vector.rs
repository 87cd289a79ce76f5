//! A SIMD vector of `f32`, and the choice of the widest one that this CPU has.
//!
//! The twins are written once, over [`Vector`], and compiled for each instruction set.
//! Compilers vectorise such loops by themselves only where input and output provably do
//! not overlap, and they never use non-temporal stores.

/// The most lanes that any [`Vector`] has.
pub(super) const MAX_LANES: usize = 16;

/// A SIMD register of `f32` lanes.
///
/// # Safety
/// Every method may be called only on a CPU that has the instruction set of the type;
/// [`on_widest_vectors`] sees to that.
pub(super) trait Vector: Copy {
    const LANES: usize;

    /// Loads a vector.
    ///
    /// # Safety
    /// `LANES` values must be readable at `from`, at any alignment of `f32`.
    unsafe fn load(from: *const f32) -> Self;

    /// Stores a vector through the caches.
    ///
    /// # Safety
    /// `LANES` values must be writable at `to`, at any alignment of `f32`.
    unsafe fn store(self, to: *mut f32);

    /// Stores past the caches (a non-temporal store): memory is written without being
    /// read first. [`Vector::fence`] must follow before another thread reads the values.
    ///
    /// # Safety
    /// `LANES` values must be writable at `to`, aligned to the whole vector.
    unsafe fn stream(self, to: *mut f32);

    unsafe fn fence();
    unsafe fn splat(value: f32) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;

    /// `self * factor + addend`, fused where the hardware fuses.
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self;
}

/// A loop that is compiled for each vector type.
pub(super) trait Loop {
    type Output;

    /// Runs the loop on vectors of this type.
    ///
    /// # Safety
    /// The CPU must have the instruction set of `V`. Implementations must be
    /// `#[inline(always)]`, so that they are compiled for that instruction set.
    unsafe fn run<V: Vector>(self) -> Self::Output;
}

/// Runs a loop on the widest vectors that this CPU has.
pub(super) fn on_widest_vectors<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has just reported AVX-512F.
            return unsafe { x86::on_avx512(work) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the CPU has just reported AVX2 and FMA.
            return unsafe { x86::on_avx2(work) };
        }
    }
    // SAFETY: `Portable` needs nothing beyond the target's baseline.
    unsafe { work.run::<Portable>() }
}

/// Runs a loop on every vector type that this CPU has, [`Portable`] first.
#[cfg(test)]
pub(super) fn on_all_vectors<L: Loop + Clone>(work: &L, mut check: impl FnMut(L::Output)) {
    // SAFETY: `Portable` needs nothing beyond the target's baseline.
    check(unsafe { work.clone().run::<Portable>() });
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the CPU has just reported AVX2 and FMA.
            check(unsafe { x86::on_avx2(work.clone()) });
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has just reported AVX-512F.
            check(unsafe { x86::on_avx512(work.clone()) });
        }
    }
}

/// Four lanes of plain Rust, which the compiler turns into the target's baseline vectors.
#[derive(Clone, Copy)]
struct Portable([f32; 4]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, combine: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| combine(self.0[lane], other.0[lane])))
    }
}

impl Vector for Portable {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises four readable values.
        Self(unsafe { from.cast::<[f32; 4]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises four writable values.
        unsafe { to.cast::<[f32; 4]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn stream(self, to: *mut f32) {
        // SAFETY: the caller promises four writable values.
        unsafe { self.store(to) }
    }

    #[inline(always)]
    unsafe fn fence() {}

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, addend: Self) -> Self {
        // Without a fused instruction in the baseline, `f32::mul_add` is a call into the
        // C library, some fifty times slower than a product and a sum.
        if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
            Self(std::array::from_fn(|lane| self.0[lane].mul_add(factor.0[lane], addend.0[lane])))
        } else {
            self.zip(factor, |a, b| a * b).zip(addend, |product, c| product + c)
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Loop, Vector};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub(super) fn on_avx512<L: Loop>(work: L) -> L::Output {
        // SAFETY: this function is compiled for AVX-512F, so it is called only where that exists.
        unsafe { work.run::<Avx512>() }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn on_avx2<L: Loop>(work: L) -> L::Output {
        // SAFETY: this function is compiled for AVX2 and FMA, so it is called only where
        // they exist.
        unsafe { work.run::<Avx2>() }
    }

    macro_rules! vector {
        ($name:ident, $register:ident, $lanes:literal, $load:ident, $store:ident, $stream:ident,
         $splat:ident, $($method:ident($($operand:ident),+) = $instruction:ident),+) => {
            #[derive(Clone, Copy)]
            pub(super) struct $name($register);

            impl Vector for $name {
                const LANES: usize = $lanes;

                #[inline(always)]
                unsafe fn load(from: *const f32) -> Self {
                    // SAFETY: the caller promises the memory and the instruction set.
                    Self(unsafe { $load(from) })
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut f32) {
                    // SAFETY: the caller promises the memory and the instruction set.
                    unsafe { $store(to, self.0) }
                }

                #[inline(always)]
                unsafe fn stream(self, to: *mut f32) {
                    // SAFETY: the caller promises memory, alignment and instruction set.
                    unsafe { $stream(to, self.0) }
                }

                #[inline(always)]
                unsafe fn fence() {
                    // SAFETY: the caller promises the instruction set.
                    unsafe { _mm_sfence() }
                }

                #[inline(always)]
                unsafe fn splat(value: f32) -> Self {
                    // SAFETY: the caller promises the instruction set.
                    Self(unsafe { $splat(value) })
                }

                $(#[inline(always)]
                unsafe fn $method(self, $($operand: Self),+) -> Self {
                    // SAFETY: the caller promises the instruction set.
                    Self(unsafe { $instruction(self.0, $($operand.0),+) })
                })+
            }
        };
    }

    vector! {
        Avx512, __m512, 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_stream_ps,
        _mm512_set1_ps, add(other) = _mm512_add_ps, mul(other) = _mm512_mul_ps,
        mul_add(factor, addend) = _mm512_fmadd_ps
    }
    vector! {
        Avx2, __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_stream_ps,
        _mm256_set1_ps, add(other) = _mm256_add_ps, mul(other) = _mm256_mul_ps,
        mul_add(factor, addend) = _mm256_fmadd_ps
    }
}
