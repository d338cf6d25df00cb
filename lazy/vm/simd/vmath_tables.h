/* vmath_tables.h: polynomials and split constants of the vector math. Written by tools/vmath_polynomials.py, which
 * tells how they were computed; do not edit. Coefficients stand lowest first. */
#ifndef LAZY_SIMD_VMATH_TABLES_H
#define LAZY_SIMD_VMATH_TABLES_H

#include <stdint.h>

/* log(2); n times the first part is exact for |n| < 2^12 */
#define VM_LN2_1_F64 0x1.62e42fefa4000p-1
#define VM_LN2_2_F64 -0x1.8432a1b0e2634p-43

/* log(2); n times the first part is exact for |n| < 2^9 */
#define VM_LN2_1_F32 0x1.62e4000000000p-1f
#define VM_LN2_2_F32 0x1.7f7d1c0000000p-20f

/* log(2) / 2 */
#define VM_LN2_HALF_1_F32 0x1.62e4300000000p-2f

/* pi / 2 */
#define VM_PIO2_1_F64 0x1.921fb54442d18p+0
#define VM_PIO2_2_F64 0x1.1a62633145c07p-54
#define VM_PIO2_3_F64 -0x1.f1976b7ed8fbcp-110

/* pi / 2 */
#define VM_PIO2_1_F32 0x1.921fb60000000p+0f
#define VM_PIO2_2_F32 -0x1.777a5c0000000p-25f
#define VM_PIO2_3_F32 -0x1.ee59da0000000p-50f

/* 1 / log(2) */
#define VM_LOG2E_1_F64 0x1.71547652b82fep+0
#define VM_LOG2E_2_F64 0x1.777d0ffda0d24p-56

/* 1 / log(2) */
#define VM_LOG2E_1_F32 0x1.7154760000000p+0f
#define VM_LOG2E_2_F32 0x1.4ae0c00000000p-26f

/* 2 / log(2) */
#define VM_TWO_LOG2E_1_F32 0x1.7154760000000p+1f
#define VM_TWO_LOG2E_2_F32 0x1.4ae0c00000000p-25f

/* log2(4 / 3); the sum of an exponent and the first part is exact */
#define VM_LOG2_4_3_1_F32 0x1.a900000000000p-2f
#define VM_LOG2_4_3_2_F32 -0x1.a39fbe0000000p-20f

/* 1 / log(10) */
#define VM_LOG10E_1_F64 0x1.bcb7b1526e50ep-2
#define VM_LOG10E_2_F64 0x1.95355baaafad3p-57

/* 1 / log(10) */
#define VM_LOG10E_1_F32 0x1.bcb7b20000000p-2f
#define VM_LOG10E_2_F32 -0x1.5b235e0000000p-27f

/* log10(2); n times the first part is exact for |n| < 2^12 */
#define VM_LOG10_2_1_F64 0x1.34413509f8000p-2
#define VM_LOG10_2_2_F64 -0x1.80433b83b532ap-44

/* log10(2); n times the first part is exact for |n| < 2^9 */
#define VM_LOG10_2_1_F32 0x1.3440000000000p-2f
#define VM_LOG10_2_2_F32 0x1.3509f80000000p-18f

/* 2 / 3 */
#define VM_TWO_THIRDS_1_F64 0x1.5555555555555p-1
#define VM_TWO_THIRDS_2_F64 0x1.5555555555555p-55

/* (exp(r) - 1 - r) / r²; error 2^-56.0 */
static const double vm_exp_f64_terms[10] = {
    0x1.0000000000001p-1, 0x1.5555555555556p-3, 0x1.5555555553b6cp-5, 0x1.1111111110918p-7, 0x1.6c16c1794e1dcp-10,
    0x1.a01a01a83ba17p-13, 0x1.a019b621f9d08p-16, 0x1.71de0be2b5e96p-19, 0x1.2894f52583578p-22, 0x1.af3ce42b12b24p-26,
};

/* (2^r - 1) / r; error 2^-56.0 */
static const double vm_exp2_f64_terms[12] = {
    0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c7p-5, 0x1.3b2ab6fba4e79p-7, 0x1.5d87fe78a3c54p-10,
    0x1.430912f86b68ep-13, 0x1.ffcbfc6ef38e4p-17, 0x1.62c022433c30ap-20, 0x1.b524e8826a748p-24, 0x1.e4cf0e401dce7p-28,
    0x1.e9f1f24867f81p-32, 0x1.c4a72f8a76148p-36,
};

/* (sin(r) - r) / r³ in r²; error 2^-55.4 */
static const double vm_sin_f64_terms[6] = {
    -0x1.5555555555555p-3, 0x1.1111111110b23p-7, -0x1.a01a019e620eep-13, 0x1.71de376b644c6p-19,
    -0x1.ae5fde7f11bc1p-26, 0x1.5dfb39c2fe1a0p-33,
};

/* (cos(r) - 1 + r²/2) / r⁴ in r²; error 2^-60.0 */
static const double vm_cos_f64_terms[6] = {
    0x1.5555555555555p-5, -0x1.6c16c16c1691fp-10, 0x1.a01a019f3dde1p-16, -0x1.27e4fa0241f79p-22,
    0x1.1eeb52a201b50p-29, -0x1.906dbf4fc47e4p-37,
};

/* (exp(r) - 1 - r) / r²; error 2^-26.9 */
static const float vm_exp_f32_terms[5] = {
    0x1.0000000000000p-1f, 0x1.5554d80000000p-3f, 0x1.5555160000000p-5f, 0x1.12106c0000000p-7f,
    0x1.6d16060000000p-10f,
};

/* (2^r - 1) / r; error 2^-29.1 */
static const float vm_exp2_f32_terms[7] = {
    0x1.62e4300000000p-1f, 0x1.ebfbe00000000p-3f, 0x1.c6b08e0000000p-5f, 0x1.3b2a160000000p-7f,
    0x1.5d879a0000000p-10f, 0x1.4446420000000p-13f, 0x1.00a95c0000000p-16f,
};

/* (sin(r) - r) / r³ in r²; error 2^-28.3 */
static const float vm_sin_f32_terms[4] = {
    -0x1.5555560000000p-3f, 0x1.11110e0000000p-7f, -0x1.a013660000000p-13f, 0x1.6da8ec0000000p-19f,
};

/* (cos(r) - 1 + r²/2) / r⁴ in r²; error 2^-31.0 */
static const float vm_cos_f32_terms[4] = {
    0x1.5555560000000p-5f, -0x1.6c16c00000000p-10f, 0x1.a015980000000p-16f, -0x1.2516360000000p-22f,
};

/* (2 atanh(s) - 2s) / s³ in s²; error 2^-59.7 */
static const double vm_log_f64_terms[8] = {
    0x1.5555555555555p-1, 0x1.9999999999a3ep-2, 0x1.2492492475dbcp-2, 0x1.c71c720302befp-3, 0x1.745cf8535fcabp-3,
    0x1.3b1c5ae51518dp-3, 0x1.0fbaab3aa5f78p-3, 0x1.0c2c749baa484p-3,
};

/* (2 atanh(s) - 2s - 2s³/3) / s⁵ in s²; error 2^-65.3 */
static const double vm_log_tail_f64_terms[8] = {
    0x1.999999999999ap-2, 0x1.2492492492527p-2, 0x1.c71c71c6e8f44p-3, 0x1.745d177c10aedp-3, 0x1.3b1395347c32dp-3,
    0x1.1118e9497c403p-3, 0x1.df75d148674edp-4, 0x1.e07718a4a9bfdp-4,
};

/* (2 atanh(s) - 2s) / s³ in s², for log1p; error 2^-59.2 */
static const double vm_log1p_f64_terms[9] = {
    0x1.5555555555555p-1, 0x1.9999999999988p-2, 0x1.249249249526dp-2, 0x1.c71c71c16f057p-3, 0x1.745d1a15f6525p-3,
    0x1.3b12e932d3636p-3, 0x1.1131986c5a2e6p-3, 0x1.dbc1bd7883e75p-4, 0x1.fd7dc96416686p-4,
};

/* (log(1 + f) - f) / f²; error 2^-28.6 */
static const float vm_log_f32_terms[10] = {
    -0x1.0000000000000p-1f, 0x1.55554e0000000p-2f, -0x1.0000080000000p-2f, 0x1.99a1300000000p-3f,
    -0x1.5559e60000000p-3f, 0x1.237a560000000p-3f, -0x1.fcc1ae0000000p-4f, 0x1.e3d33a0000000p-4f,
    -0x1.d962f20000000p-4f, 0x1.15425c0000000p-4f,
};

/* (log(1 + f) - f) / f² / log(2); error 2^-27.6 */
static const float vm_log2_f32_terms[10] = {
    -0x1.7154760000000p-1f, 0x1.ec70940000000p-2f, -0x1.7154800000000p-2f, 0x1.277c3e0000000p-2f,
    -0x1.ec77320000000p-3f, 0x1.a483800000000p-3f, -0x1.6efd840000000p-3f, 0x1.5d018c0000000p-3f,
    -0x1.5579e80000000p-3f, 0x1.9000220000000p-4f,
};

/* (log(1 + f) - f) / f² / log(10); error 2^-27.3 */
static const float vm_log10_f32_terms[10] = {
    -0x1.bcb7b20000000p-3f, 0x1.287a700000000p-3f, -0x1.bcb7be0000000p-4f, 0x1.63ccbe0000000p-4f,
    -0x1.287e6c0000000p-4f, 0x1.fa59520000000p-5f, -0x1.b9e67c0000000p-5f, 0x1.a43ec20000000p-5f,
    -0x1.9b2da60000000p-5f, 0x1.e1a60c0000000p-6f,
};

/* (log(1 + f) - f) / f², for log1p; error 2^-29.0 */
static const float vm_log1p_f32_terms[11] = {
    -0x1.0000000000000p-1f, 0x1.5555540000000p-2f, -0x1.00000a0000000p-2f, 0x1.999b140000000p-3f,
    -0x1.5551f80000000p-3f, 0x1.24496c0000000p-3f, -0x1.ffb0d60000000p-4f, 0x1.d11fc60000000p-4f,
    -0x1.b0f3840000000p-4f, 0x1.4f1e620000000p-4f, -0x1.0f37660000000p-5f,
};

/* (2 atanh(s) - 2s) / s³ / log(2) in s², for pow; error 2^-39.2 */
static const float vm_pow_log2_f32_terms[4] = {
    0x1.ec709e0000000p-1f, 0x1.2776520000000p-1f, 0x1.a68f700000000p-2f, 0x1.3878380000000p-2f,
};

/* (2^r - 1) / r, for pow; error 2^-26.3 */
static const float vm_pow_exp2_f32_terms[6] = {
    0x1.62e4300000000p-1f, 0x1.ebfb940000000p-3f, 0x1.c6af9e0000000p-5f, 0x1.3b68100000000p-7f,
    0x1.5ef4dc0000000p-10f, 0x1.17a3120000000p-13f,
};

/* log2(1 + f) / f, for pow of f32; error 2^-35.7 */
static const double vm_pow_log2_f64_terms[13] = {
    0x1.71547652a44dbp+0, -0x1.715476572cc31p-1, 0x1.ec709ea6a0c5ep-2, -0x1.71546f4871651p-2, 0x1.277658c21e745p-2,
    -0x1.ec7352cb89bf3p-3, 0x1.a63df11f4d312p-3, -0x1.7131ef80d3e2cp-3, 0x1.453051c8c9c33p-3, -0x1.25de4aa3aaf85p-3,
    0x1.28dbd2cf0a272p-3, -0x1.21af6d5ddd93cp-3, 0x1.35673bb33fc05p-4,
};

/* (2^r - 1) / r, for pow of f32; error 2^-27.9 */
static const double vm_pow_exp2_f64_terms[6] = {
    0x1.62e43033b9195p-1, 0x1.ebfbe00fc1dc9p-3, 0x1.c6af6120556d4p-5, 0x1.3b2a4ef42d02ep-7, 0x1.5f104eb6b6a44p-10,
    0x1.4418e6a439585p-13,
};

/* (sinh(r) - r) / r³ in r²; error 2^-59.6 */
static const double vm_sinh_f64_terms[6] = {
    0x1.5555555555555p-3, 0x1.1111111111111p-7, 0x1.a01a01a0195e6p-13, 0x1.71de3a5af94e9p-19, 0x1.ae642ad2afc4ep-26,
    0x1.61c2c1ba4e2aep-33,
};

/* (cosh(r) - 1) / r² in r²; error 2^-66.5 */
static const double vm_cosh_f64_terms[6] = {
    0x1.0000000000000p-1, 0x1.5555555555557p-5, 0x1.6c16c16c158f5p-10, 0x1.a01a01aa828e3p-16, 0x1.27e4d2841fbb7p-22,
    0x1.1f820dbf72cc0p-29,
};

/* (sinh(r) - r) / r³ in r²; error 2^-30.7 */
static const float vm_sinh_f32_terms[3] = {
    0x1.5555560000000p-3f, 0x1.1110e00000000p-7f, 0x1.a12a420000000p-13f,
};

/* (cosh(r) - 1) / r² in r²; error 2^-31.3 */
static const float vm_cosh_f32_terms[3] = {
    0x1.0000000000000p-1f, 0x1.5554e40000000p-5f, 0x1.6d49200000000p-10f,
};

/* (tan(r) - r) / r³ in r²; error 2^-29.1 */
static const float vm_tan_f32_terms[7] = {
    0x1.5555640000000p-2f, 0x1.110c980000000p-3f, 0x1.bb06b60000000p-5f, 0x1.5afaaa0000000p-6f, 0x1.6bd7cc0000000p-7f,
    -0x1.038c5a0000000p-12f, 0x1.29a3680000000p-8f,
};

/* (asin(x) - x) / x³ in x²; error 2^-27.6 */
static const float vm_asin_f32_terms[5] = {
    0x1.5555cc0000000p-3f, 0x1.3300c40000000p-4f, 0x1.749b2a0000000p-5f, 0x1.8b05700000000p-6f, 0x1.5a68da0000000p-5f,
};

/* (atan(x) - x) / x³ in x²; error 2^-28.7 */
static const float vm_atan_f32_terms[9] = {
    -0x1.5555400000000p-2f, 0x1.9992660000000p-3f, -0x1.24262a0000000p-3f, 0x1.c0c8e20000000p-4f,
    -0x1.58bcfc0000000p-4f, 0x1.dc983a0000000p-5f, -0x1.012eea0000000p-5f, 0x1.6965920000000p-7f,
    -0x1.dcc3a20000000p-10f,
};

/* (asin(x) - x) / x³ in x²; error 2^-58.8 */
static const double vm_asin_f64_terms[14] = {
    0x1.5555555555555p-3, 0x1.333333333338ap-4, 0x1.6db6db6dabef9p-5, 0x1.f1c71c7a74f57p-6, 0x1.6e8ba11d5ce44p-6,
    0x1.1c4efd9f27620p-6, 0x1.c99091ecdcfd3p-7, 0x1.7b03d057b1ce4p-7, 0x1.3b3ec22d8caedp-7, 0x1.31a23d46654b2p-7,
    0x1.8b35554d427e3p-9, 0x1.4198be6a8ec8dp-6, -0x1.3d0565b77b322p-6, 0x1.e64ba048e72e0p-6,
};

/* (atan(x) - x) / x³ in x²; error 2^-57.9 */
static const double vm_atan_f64_terms[13] = {
    -0x1.5555555555555p-2, 0x1.9999999999997p-3, -0x1.24924924920a3p-3, 0x1.c71c71c6dd2d8p-4, -0x1.745d173542f78p-4,
    0x1.3b13aea53b149p-4, -0x1.1110ce80542b4p-4, 0x1.e1d8ddf451dc0p-5, -0x1.aebcad63d0973p-5, 0x1.829a09d66882dp-5,
    -0x1.5030c27a70611p-5, 0x1.f5ba270255c31p-6, -0x1.c7a6bc41881fdp-7,
};

/* (tanh(x) - x) / x³ in x²; error 2^-24.4 */
static const float vm_tanh_f32_terms[4] = {
    -0x1.55542c0000000p-2f, 0x1.10c8020000000p-3f, -0x1.aec7a40000000p-5f, 0x1.0a96360000000p-6f,
};

/* exp(2x), |x| <= log(2) / 4, for tanh; error 2^-23.0 */
static const float vm_exp_twice_f32_terms[6] = {
    0x1.0000020000000p+0f, 0x1.0000000000000p+1f, 0x1.fffcea0000000p+0f, 0x1.5554740000000p+0f, 0x1.576dfc0000000p-1f,
    0x1.12438e0000000p-2f,
};

/* erf(x) / x - 1 in x²; error 2^-56.2 */
static const double vm_erf_f64_terms[13] = {
    0x1.06eba8214db69p-3, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bcap-4, -0x1.b82ce31288152p-6, 0x1.565bcd0e47c19p-8,
    -0x1.c02db3f759f9dp-11, 0x1.f9a32580bc530p-14, -0x1.f4d232642b5e9p-17, 0x1.b9e399f838f98p-20,
    -0x1.5f495ec080908p-23, 0x1.f9b7b88f1ea31p-27, -0x1.3f9c14db9c5fdp-30, 0x1.1b4eca875dc7fp-34,
};

/* erf(x) / x - 1 in x²; error 2^-28.1 */
static const float vm_erf_f32_terms[7] = {
    0x1.06eba80000000p-3f, -0x1.8127440000000p-2f, 0x1.ce2e460000000p-4f, -0x1.b813d20000000p-6f,
    0x1.54fbda0000000p-8f, -0x1.ac15180000000p-11f, 0x1.6308c60000000p-14f,
};

/* (1 + 2x) exp(x²) erfc(x) in (x - 2) / (x + 2), for x from 0.45 to 6.1; error 2^-53.1 */
static const double vm_erfc_f64_terms[19] = {
    0x1.46e80e2277953p+0, -0x1.7bf5ec1700600p-4, -0x1.5407bebf32185p-3, 0x1.4ffa1e14e16c4p-3, -0x1.bc2b9561da5bdp-5,
    -0x1.0742340153820p-7, 0x1.1dd2ecb7015d7p-7, 0x1.4d461b330e77fp-10, -0x1.7de537ade2566p-10,
    -0x1.dc68edd1d4dd8p-12, 0x1.b0d0244aa3286p-13, 0x1.3cbfa410d8b7cp-13, -0x1.ad4f4c36fd7aap-20,
    -0x1.31cd725615c56p-15, -0x1.b9b7ad27f9c6dp-17, 0x1.09448a94b9ea6p-18, 0x1.3422c237997ecp-18,
    0x1.a70b7322ec1d6p-21, -0x1.2d95786be5b68p-22,
};

/* log2(erfc(x)), for x from 0.9 to 4; error 2^-26.9 */
static const float vm_erfc_f32_terms[9] = {
    0x1.e1e1040000000p-12f, -0x1.a16d9c0000000p+0f, -0x1.d2b3f60000000p-1f, -0x1.4544940000000p-3f,
    0x1.3856280000000p-5f, -0x1.c24c880000000p-8f, 0x1.c401ac0000000p-11f, -0x1.17579a0000000p-14f,
    0x1.3e27b00000000p-19f,
};

/* erf_inv(x) / x in w = -log(1 - x²), for w up to 5; error 2^-25.0 */
static const float vm_erf_inv_near_f32_terms[11] = {
    0x1.c5bf8a0000000p-1f, 0x1.db29e00000000p-3f, 0x1.7a80220000000p-7f, -0x1.32b7f60000000p-9f,
    -0x1.f723300000000p-14f, 0x1.468dc60000000p-15f, 0x1.b8042e0000000p-18f, -0x1.6aeb240000000p-19f,
    0x1.72c95a0000000p-22f, -0x1.60fec00000000p-26f, 0x1.03c3bc0000000p-31f,
};

/* erf_inv(x) / x in sqrt(w) - 3, for w from 5 to 16.7; error 2^-25.3 */
static const float vm_erf_inv_far_f32_terms[11] = {
    0x1.6a9efc0000000p+1f, 0x1.006dca0000000p+0f, 0x1.35810a0000000p-7f, -0x1.f4f0540000000p-8f,
    0x1.74c0b20000000p-8f, -0x1.d2dbcc0000000p-9f, 0x1.824b7a0000000p-10f, -0x1.1286200000000p-13f,
    -0x1.1d7aba0000000p-12f, 0x1.60bb820000000p-13f, -0x1.20ca260000000p-15f,
};

/* erf_inv(x) / x in w = -log(1 - x²), for w up to 5; error 2^-18.4 */
static const double vm_erf_inv_near_f64_terms[7] = {
    0x1.c5bfdc93b710ep-1, 0x1.db10d03655fa5p-3, 0x1.7f1e5608c0572p-7, -0x1.44edbe342ae8ep-9, -0x1.392111bb2af7ep-14,
    0x1.8d14a3f38c420p-15, -0x1.ace9fdb2eb6a9p-19,
};

/* erf_inv(x) / x in sqrt(w) - 4, for w from 5 to 37; error 2^-16.2 */
static const double vm_erf_inv_far_f64_terms[8] = {
    0x1.eb7d5567eb795p+1, 0x1.0269d57c8c224p+0, 0x1.802854c7f6b7fp-10, -0x1.7c09df19687e9p-11, 0x1.f6358c5363801p-18,
    -0x1.5e6a0067c3acep-13, 0x1.b4d3f3234ceb4p-13, -0x1.c16a4bda65d03p-15,
};

/* cube root, for x from 0.7 to 5.7; error 2^-9.2 */
static const double vm_cbrt_f64_terms[6] = {
    0x1.1581d6bae4481p-1, 0x1.3b210e966acd9p-1, -0x1.97dbbc0f191dcp-3, 0x1.761dec5f424dep-5, -0x1.70898855f3ec0p-8,
    0x1.25b485c999cf3p-12,
};

/* the bits of 2 / pi behind the binary point */
static const uint64_t vm_two_over_pi[20] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
};

#endif
