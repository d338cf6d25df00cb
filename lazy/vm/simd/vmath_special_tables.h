/* vmath_special_tables.h: tables of the special functions, all for f64. Written by tools/special_tables.py, which tells
 * how they were computed; do not edit. */
#ifndef LAZY_SIMD_VMATH_SPECIAL_TABLES_H
#define LAZY_SIMD_VMATH_SPECIAL_TABLES_H

/* the zero of psi beyond 0 */
#define VM_PSI_ROOT_1 0x1.762d86356be3fp+0
#define VM_PSI_ROOT_2 0x1.b86a722197829p-54
#define VM_PSI_ROOT_3 0x1.e0d62a6be90c7p-109

/* the same less 1 */
#define VM_PSI_ROOT_LESS_1_1 0x1.d8b618d5af8fep-2
#define VM_PSI_ROOT_LESS_1_2 -0x1.1e563779a1f5bp-56
#define VM_PSI_ROOT_LESS_1_3 -0x1.f29d59416f391p-113

/* Euler's constant */
#define VM_EULER 0x1.2788cfc6fb619p-1

/* log(2 pi) / 2 */
#define VM_HALF_LOG_2PI_1 0x1.d67f1c864beb5p-1
#define VM_HALF_LOG_2PI_2 -0x1.65b5a1b7ff5dfp-55

/* sqrt(2 pi) */
#define VM_SQRT_2PI_1 0x1.40d931ff62706p+1
#define VM_SQRT_2PI_2 -0x1.a6a0d6f814637p-53

/* lgamma(1 + z) / z; error 2^-55.3 */
static const double vm_lgamma_1_terms[18] = {
    -0x1.2788cfc6fb619p-1, 0x1.a51a6625307d3p-1, -0x1.9a4d55beab175p-2, 0x1.151322ac7d6f8p-2, -0x1.a8b9c17aefac9p-3,
    0x1.5b40cb1052307p-3, -0x1.2703a1adda3c6p-3, 0x1.010b3682c2b41p-3, -0x1.c8068e8407601p-4, 0x1.9a0200241b25fp-4,
    -0x1.7486d02d90398p-4, 0x1.5565b6bdf231dp-4, -0x1.3badd89453946p-4, 0x1.252010b5fcc3ap-4, -0x1.085dfb0fbde4cp-4,
    0x1.ef72530fe5251p-5, -0x1.37b77d9481518p-4, 0x1.26d79c9a2ff4ap-4,
};

/* lgamma(1.5 + z); error 2^-54.2 */
static const double vm_lgamma_mid_terms[16] = {
    -0x1.eeb95b094c191p-4, 0x1.2aed059bd608ap-5, 0x1.de9e64df22f0ep-2, -0x1.1ae55b180728fp-3, 0x1.e0f840dac40bap-5,
    -0x1.da59d53733a3fp-6, 0x1.f9ca39febb640p-7, -0x1.1a8ba5078f701p-7, 0x1.456f092e3a724p-8, -0x1.7edb6b04233c8p-9,
    0x1.c97cb8f54f805p-10, -0x1.149012fd01a7cp-10, 0x1.501d60a45cfe7p-11, -0x1.9d467e61358adp-12,
    0x1.1b3ff39fb62aep-12, -0x1.60ac77ca23d4fp-13,
};

/* lgamma(2 + z) / z; error 2^-55.5 */
static const double vm_lgamma_2_terms[15] = {
    0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a557607p-4, 0x1.51322ac7d8235p-6, -0x1.e404fc218f19ap-8,
    0x1.7add6eae7df75p-9, -0x1.38ac5c2cb4552p-10, 0x1.0b36ae9976740p-11, -0x1.d3fd4ab93bc11p-13,
    0x1.a128d1852220bp-14, -0x1.78df6b644a7c3p-15, 0x1.57afd4247e819p-16, -0x1.3c6427dbcb33ap-17,
    0x1.3518a98fb51ccp-18, -0x1.20495c2b69aefp-19,
};

/* lgamma(2.625 + z); error 2^-53.5 */
static const double vm_lgamma_3_terms[16] = {
    0x1.815d9de2b88ebp-2, 0x1.867d72f956ce9p-1, 0x1.d995a77d71d51p-3, -0x1.1f64070e0f64ap-5, 0x1.01ca3b39d1aacp-7,
    -0x1.11cde6a71e204p-9, 0x1.3f3d56924ca98p-11, -0x1.8a778c28dee99p-13, 0x1.fac73ff83b551p-15,
    -0x1.4e9d15372fee1p-16, 0x1.c2e90b7c19aa0p-18, -0x1.347ed43a31e06p-19, 0x1.aa444d28ed132p-21,
    -0x1.29eeadd73df85p-22, 0x1.c3d667ef3ddb8p-24, -0x1.40863f75156acp-25,
};

/* (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x in 1 / x², for x from 8; error 2^-54.0 */
static const double vm_stirling_terms[9] = {
    0x1.5555555555555p-4, -0x1.6c16c16c16c0fp-9, 0x1.a01a01a00d0c8p-11, -0x1.381381168d370p-11, 0x1.b951b7066a805p-11,
    -0x1.f69af4cedb3c1p-10, 0x1.a2565f7c03969p-8, -0x1.c6897db52d634p-6, 0x1.c29fa984fd96ep-4,
};

/* (gamma(2 + z) - 1) / z; error 2^-55.9 */
static const double vm_gamma_terms[22] = {
    0x1.b0ee6072093cep-2, 0x1.a5b978b96bebfp-2, 0x1.4e239984650adp-4, 0x1.301fbb0f25a92p-4, -0x1.17f3740fe95d0p-12,
    0x1.6d7eeac9ea5c8p-7, -0x1.75e6e9045eaf5p-9, 0x1.13c449c839084p-9, -0x1.e21f1c9d1c325p-11, 0x1.011ad2eb74c62p-11,
    -0x1.f94a6b3e79da8p-13, 0x1.fe5639b9c5da3p-14, -0x1.fdf919bf6d4c5p-15, 0x1.feee6461e2c16p-16,
    -0x1.ff0aea3de0981p-17, 0x1.ff54fd57c40efp-18, -0x1.014e5423816ecp-18, 0x1.015d54e14afeep-19,
    -0x1.dda7fc0f536ddp-21, 0x1.ddb4f9e78c505p-22, -0x1.6c01273656b17p-22, 0x1.6c048e97eb7dfp-23,
};

/* psi(root + t) / t; error 2^-54.4 */
static const double vm_psi_terms[23] = {
    0x1.ef72bc8ee38acp-1, -0x1.c563b54aa1a35p-2, 0x1.08b4294d50355p-2, -0x1.4fc1317257e68p-3, 0x1.b9a5b63716ca7p-4,
    -0x1.27baba2616b8fp-4, 0x1.8fce02ae2495cp-5, -0x1.0fa7ec371be39p-5, 0x1.723d69292499dp-6, -0x1.f97051520041ep-7,
    0x1.59559c1cf5f48p-7, -0x1.d827c859dea8dp-8, 0x1.42e651172a51bp-8, -0x1.b9b8b82225d53p-9, 0x1.2dd82689f2bbbp-9,
    -0x1.9caaeb515882dp-10, 0x1.1dc4e258eabcdp-10, -0x1.8bcc0b751e398p-11, 0x1.eeb63ac1d9595p-12,
    -0x1.2a1fc057e6926p-12, 0x1.26295f0593efbp-12, -0x1.240948d22d468p-12, 0x1.f255c4568ac4dp-14,
};

/* (log x - 1/(2x) - psi(x)) x² in 1 / x², for x from 8; error 2^-54.0 */
static const double vm_psi_far_terms[9] = {
    0x1.5555555555555p-4, -0x1.11111111110eep-7, 0x1.04104103f3357p-8, -0x1.111110c5db913p-8, 0x1.f07bbcef74ac4p-8,
    -0x1.59837b4a4780cp-6, 0x1.5356fbc92b38cp-4, -0x1.a43dc8de6cf74p-2, 0x1.c5b8542e7f8cap+0,
};

/* B_2k / (2k)! for k from 1: DLMF 25.11.28 */
static const double vm_zeta_terms[14] = {
    0x1.5555555555555p-4, -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
    0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
    0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58, -0x1.497d9033a2b5cp-63,
    0x1.0b132d7c6ad06p-68, -0x1.b0f72d59f1c16p-74,
};

/* 1 / (2k + 3), for log1p(x) - x */
static const double vm_odd_terms[18] = {
    0x1.5555555555555p-2, 0x1.999999999999ap-3, 0x1.2492492492492p-3, 0x1.c71c71c71c71cp-4, 0x1.745d1745d1746p-4,
    0x1.3b13b13b13b14p-4, 0x1.1111111111111p-4, 0x1.e1e1e1e1e1e1ep-5, 0x1.af286bca1af28p-5, 0x1.8618618618618p-5,
    0x1.642c8590b2164p-5, 0x1.47ae147ae147bp-5, 0x1.2f684bda12f68p-5, 0x1.1a7b9611a7b96p-5, 0x1.0842108421084p-5,
    0x1.f07c1f07c1f08p-6, 0x1.d41d41d41d41dp-6, 0x1.bacf914c1bad0p-6,
};

/* sqrt(pi) x exp(x²) erfc(x) in 1 / x², for x from 6; error 2^-59.7 */
static const double vm_erfcx_far_terms[12] = {
    0x1.0000000000000p+0, -0x1.fffffffffffc0p-2, 0x1.7ffffffff2946p-1, -0x1.dfffffee35892p+0, 0x1.a3fff9e003755p+2,
    -0x1.d87ebf4d4b543p+4, 0x1.44c302c8bf656p+7, -0x1.0704b4a7cfc68p+10, 0x1.e0e033ead705bp+12,
    -0x1.c450c10297b4cp+15, 0x1.67af812432cd3p+18, -0x1.46df2d2dfccd4p+20,
};

/* exp(-x) I0(x) (1 + x), for x up to 8; error 2^-54.1 */
static const double vm_i0e_terms[31] = {
    0x1.1526c541723eep+0, 0x1.63297ed981b50p-3, 0x1.e2cfc8349ba8cp-5, -0x1.0b7e8af0cb8cdp-5, 0x1.2f1591dd57517p-7,
    0x1.0a7278d7dde1ep-10, -0x1.bc7c0853042d3p-9, 0x1.687d7e7f69c1ep-9, -0x1.a47a26d90dd53p-10, 0x1.95d7246e2e5f4p-11,
    -0x1.551f9709f7cf3p-12, 0x1.0041d27925ebdp-13, -0x1.5d98ac9f02eddp-15, 0x1.b5d14a32e642fp-17,
    -0x1.fb6fc977dccd1p-19, 0x1.11e3b8fd8766fp-20, -0x1.14d224264f4e1p-22, 0x1.071a35d5916b3p-24,
    -0x1.d81484d223600p-27, 0x1.911559cd69f7dp-29, -0x1.43a4e3f3dcbcep-31, 0x1.f15a5bdc8afe8p-34,
    -0x1.6cbb1ce56532fp-36, 0x1.ffa34ac4066c6p-39, -0x1.57e0decf91587p-41, 0x1.bbbada14a89b2p-44,
    -0x1.134266f914232p-46, 0x1.48d60680d0e49p-49, -0x1.7ac981f520e0cp-52, 0x1.a52560468f241p-55,
    -0x1.bd6e5bda7ab40p-58,
};

/* sqrt(x) exp(-x) I0(x) in 1 / x, for x from 8; error 2^-53.8 */
static const double vm_i0e_far_terms[25] = {
    0x1.9be62aca809cbp-2, 0x1.b998ca2e59049p-9, 0x1.20fa378999e52p-14, 0x1.8412bc101c586p-19, 0x1.b8007d9cd616ep-23,
    0x1.8569280d6d56dp-26, 0x1.d2c64a9225b86p-29, 0x1.0f9ccc0f46f68p-31, 0x1.a24feabe8084bp-37,
    -0x1.1511d0839732fp-35, -0x1.d0fd7357ea41bp-37, -0x1.f9043031697f9p-40, 0x1.94347fa2fc522p-41,
    0x1.b1c8c6b5d8379p-42, 0x1.156ff0a896224p-46, -0x1.75d99c8474ba9p-45, -0x1.583fe7ee00c22p-47,
    0x1.12a907a014275p-48, 0x1.fee81807608edp-50, -0x1.8ae9c329690f6p-52, -0x1.46093f60b30d7p-52,
    0x1.3ea5a4e6cf459p-55, 0x1.9dab33de1ade5p-55, -0x1.52109c25bd9ecp-58, -0x1.36e52c10032d7p-57,
};

/* J0(x) in x², for x up to 8; error 2^-47.5 */
static const double vm_j0_terms[21] = {
    0x1.4306e1f9314dbp-3, -0x1.1dd989ce98ea2p-7, 0x1.0f8afb7d3a552p-2, -0x1.7afa2e9c62a9ep-2, 0x1.43b8af58b7ffap-3,
    -0x1.1dd989ce98ea2p-5, 0x1.3bd46ccab9da0p-8, -0x1.e300651cd3ae3p-12, 0x1.104c067d74d17p-15,
    -0x1.d8f811cd3e853p-20, 0x1.46c4a4b32aa3bp-24, -0x1.703bda6758f6fp-29, 0x1.593076e904d04p-34,
    -0x1.1192067e71726p-39, 0x1.73936aa3d0207p-45, -0x1.b5729d242acaep-51, 0x1.c2c89ea282aaap-57,
    -0x1.9a167d709915cp-63, 0x1.4bd1a29853d8bp-69, -0x1.e0c749716de53p-76, 0x1.39ac386378b0fp-82,
};

/* P in 1 / x², for x from 8: DLMF 10.17.3; error 2^-54.4 */
static const double vm_j0_p_terms[15] = {
    0x1.ffb944543151ep-1, -0x1.194ac5283c04ap-11, 0x1.9cbe8b7395851p-19, -0x1.bc26938a82ce2p-25,
    0x1.c03a8b38ca73cp-30, -0x1.59ddcc285389dp-34, 0x1.6baf23642c3fcp-38, -0x1.e4a709e7401d1p-42,
    0x1.85b4816648b08p-45, -0x1.6d432c9d5d41cp-48, 0x1.84fff5060bb42p-51, -0x1.cdb2b96661f84p-54,
    0x1.2cc48fae3b628p-56, -0x1.a85a25e0e4db4p-59, 0x1.34caa6632a872p-61,
};

/* x Q in 1 / x², for x from 8; error 2^-55.0 */
static const double vm_j0_q_terms[15] = {
    -0x1.fdbbf76547cafp-4, 0x1.1ed40c7bf4761p-11, -0x1.8e1017183d060p-18, 0x1.34c3b3f0f3e19p-23,
    -0x1.8fc71e52a527fp-28, 0x1.7334b27ad2861p-32, -0x1.c34f407df843cp-36, 0x1.52763be8fe2cfp-39,
    -0x1.2c827d7e1af35p-42, 0x1.329f0bf5f36ffp-45, -0x1.5fa3103517a30p-48, 0x1.bd95c7cd52b44p-51,
    -0x1.33c5cd2f8013dp-53, 0x1.c9af9c3d116f0p-56, -0x1.5c372909e604fp-58,
};

/* exp(-x) I1(x) (1 + x / 2)² / x, for x up to 8; error 2^-54.2 */
static const double vm_i1e_terms[31] = {
    0x1.bbc669cac31a5p-2, -0x1.3be05baa5d99ap-5, 0x1.ef1b2f4491fd4p-6, -0x1.528ae83f9b5efp-8, -0x1.29739c5b8b490p-9,
    0x1.59143dc39f1c4p-9, -0x1.8aef4efa6008dp-10, 0x1.4e078e2ed7cafp-11, -0x1.bde311d1af971p-13,
    0x1.c84c7dc8a3e10p-15, -0x1.1c640e47dbd04p-17, -0x1.e6fb44eddaa8fp-21, 0x1.7a1980ae1b423p-20,
    -0x1.8265d0eeaa9f7p-21, 0x1.279fc2e74856ep-22, -0x1.802efd55389a3p-24, 0x1.bc4dd61f1c344p-26,
    -0x1.d424eb6e7524cp-28, 0x1.c7c7782e95f90p-30, -0x1.9de8374f44d12p-32, 0x1.6103bccba9b81p-34,
    -0x1.1c3f8ed4b0b4fp-36, 0x1.b1f9c18cae7dbp-39, -0x1.3b297c8bde3d8p-41, 0x1.b4bf766b8dec4p-44,
    -0x1.2175ba2f3a2cfp-46, 0x1.6fcf34ccf6af4p-49, -0x1.c0e70258ce663p-52, 0x1.0792ff8e085d2p-54,
    -0x1.2a32a4252b1ccp-57, 0x1.4049755a14179p-60,
};

/* sqrt(x) exp(-x) I1(x) in 1 / x, for x from 8; error 2^-55.0 */
static const double vm_i1e_far_terms[25] = {
    0x1.8ea18b55b1514p-2, -0x1.3fda053fcdb4cp-7, -0x1.cfd7f804aa9a6p-14, -0x1.048df49ca0373p-18,
    -0x1.0dbfd2e9e5443p-22, -0x1.c415394bb46c1p-26, -0x1.0790b9ad53528p-28, -0x1.334ca5423dd73p-31,
    -0x1.4dcf9d450502bp-36, 0x1.1e1a1f1587787p-35, 0x1.f101f653c6e5cp-37, 0x1.1e7d3f6431a88p-39,
    -0x1.953e10773f2d7p-41, -0x1.cbc458e4c0b0fp-42, -0x1.7a9482bae9bd3p-46, 0x1.80d3c1f5ee78ap-45,
    0x1.776e1785ce204p-47, -0x1.12db3f80c66ccp-48, -0x1.0efcfa5e101f2p-49, 0x1.7d64234f4df7ep-52,
    0x1.559a602e3b6afp-52, -0x1.276fcece3b6fbp-55, -0x1.aec8d46a5382ep-55, 0x1.33e83e12ca3b4p-58,
    0x1.432b0a4121172p-57,
};

/* J1(x) / x in x², for x up to 8; error 2^-45.7 */
static const double vm_j1_terms[21] = {
    0x1.4bf5ae47a6150p-4, -0x1.3119e17fdbffdp-3, 0x1.49b9fb3408e33p-3, -0x1.52a8c7827daa8p-4, 0x1.6bf2c1f5f71e1p-6,
    -0x1.de030538b55b0p-9, 0x1.a8b56cedfe580p-12, -0x1.11188227a5012p-15, 0x1.0a8a3a628fc7bp-19,
    -0x1.98f754605f635p-24, 0x1.fac17c7273311p-29, -0x1.030d00d42d6f4p-33, 0x1.bcc0916376113p-39,
    -0x1.453d2b4e985cbp-44, 0x1.9a36afedba862p-50, -0x1.c2dff424052f8p-56, 0x1.b3c9bd267e611p-62,
    -0x1.755818284e09fp-68, 0x1.1d7dedbb9e71fp-74, -0x1.88279dbcef464p-81, 0x1.e67804c08dd9bp-88,
};

/* P in 1 / x², for x from 8: DLMF 10.17.3; error 2^-57.0 */
static const double vm_j1_p_terms[15] = {
    0x1.003b2e82f5f12p+0, 0x1.d7545f75d7da9p-11, -0x1.0b9505ce79bbap-18, 0x1.0953cdc0829efp-24,
    -0x1.01454cf5d6ac0p-29, 0x1.83c5742be2cb7p-34, -0x1.9171afe32f991p-38, 0x1.088a8b677fb6cp-41,
    -0x1.a5ead8bdba2d6p-45, 0x1.88e81910f7585p-48, -0x1.a045cebf01a93p-51, 0x1.ebf57584179c5p-54,
    -0x1.3f54d7015367bp-56, 0x1.c12b73473a30fp-59, -0x1.460af173d132fp-61,
};

/* x Q in 1 / x², for x from 8; error 2^-54.2 */
static const double vm_j1_q_terms[15] = {
    0x1.7f34213492af6p-2, -0x1.93d0e4fa70662p-11, 0x1.eaa02bf61504bp-18, -0x1.681617e8645adp-23,
    0x1.c467999a69932p-28, -0x1.9c37875f5eb9ap-32, 0x1.eeb91abca79b2p-36, -0x1.6f877e53ee3eap-39,
    0x1.43f80578b6487p-42, -0x1.48ac41472400dp-45, 0x1.772d4961cba46p-48, -0x1.d9942b1263591p-51,
    0x1.4609f355f3144p-53, -0x1.e37e7306a7240p-56, 0x1.6f044f2b7f8d2p-58,
};

/* d[k][n]: c_k(eta) = sum of d[k][n] eta^n, DLMF 8.12.7 */
enum { VM_TEMME_ROWS = 13, VM_TEMME_COLUMNS = 20 };
static const double vm_temme[VM_TEMME_ROWS][VM_TEMME_COLUMNS] = {
    {-0x1.5555555555555p-2, 0x1.5555555555555p-4, -0x1.e573ac901e574p-7, 0x1.2f684bda12f68p-10,
     0x1.71de3a556c734p-12, -0x1.76e06fec7273bp-13, 0x1.48c5892f7cd83p-15, -0x1.255370652afc1p-19,
     -0x1.f1b22f594c6b5p-20, 0x1.bd6d21e4b4109p-21, -0x1.7b5f9a2d0465cp-23, 0x1.ccf5ceb7f0d9fp-28,
     0x1.6097d55c37c1cp-27, -0x1.2d2197c7a2faap-28, 0x1.f6e66d24d5c8ap-31, -0x1.c0d9b6edf2b0bp-36,
     -0x1.0070a87340428p-34, 0x1.ac9475c463659p-36, -0x1.61ca701fd754ap-38, 0x1.ef98008f5eec2p-44},
    {-0x1.e573ac901e574p-10, -0x1.c71c71c71c71cp-9, 0x1.5ac056b015ac0p-9, -0x1.0394f6f09e723p-10,
     0x1.af83440e53dbcp-13, -0x1.af83440e53dbcp-22, -0x1.2fa4ae89e5af0p-16, 0x1.00a9cabd6b83ep-17,
     -0x1.b0bdfcc629cbap-20, 0x1.3f59230a8357cp-28, 0x1.280f2cde3f847p-23, -0x1.ee23d0cba8aeep-25,
     0x1.9aa7a30de114cp-27, -0x1.349fbca3a377bp-36, -0x1.1564ecff73d58p-30, 0x1.c9b434bf3c34ep-32,
     -0x1.78a5056f8ce45p-34, 0x1.113e3a466db9ep-44, 0x1.f8041c5540ea2p-38, -0x1.9ccf2fab4608bp-39},
    {0x1.0ee643b990ee6p-8, -0x1.5f7268edab4c8p-9, 0x1.948b0fcd6e9e0p-11, 0x1.0db20a88f4696p-19,
     -0x1.c253efaa1a932p-14, 0x1.bbf43daf4fe53p-15, -0x1.ac2d05890f2c3p-17, 0x1.26154ae39151dp-25,
     0x1.7058929663937p-20, -0x1.522cb05171911p-21, 0x1.32ac81c15d3d7p-23, -0x1.c24bd0e740a6cp-33,
     -0x1.e437343a46f5dp-27, 0x1.ac0d455e25360p-28, -0x1.77c5829460139p-30, 0x1.0962774f638bbp-40,
     0x1.1b1056c188672p-33, -0x1.e9778dbc61371p-35, 0x1.a55da34225759p-37, -0x1.2c681309d6007p-48},
    {0x1.547d93b34e2b6p-11, 0x1.e13ce465fa859p-13, -0x1.ebfb188b7ca00p-12, 0x1.18b9b5bf2d984p-12,
     -0x1.3d2a3a29b5d9dp-14, -0x1.0152a1871f27ap-22, 0x1.73df462204ef4p-17, -0x1.7cd6f27b3f020p-18,
     0x1.7e0201539310ep-20, -0x1.ea23269c140a7p-36, -0x1.6c2dcffbefeefp-23, 0x1.5bde8ef4c4dc7p-24,
     -0x1.4853ced169327p-26, 0x1.50c3f0dd501ebp-39, 0x1.1b66a39794ba9p-29, -0x1.040c53b2491f0p-30,
     0x1.d9b15465daec1p-33, -0x1.f46057e1c9d1fp-47, -0x1.812d3d94d533bp-36, 0x1.587d7a7c1a668p-37},
    {-0x1.c3e0b02da7bf9p-11, 0x1.9b0ff6874f2c4p-11, -0x1.3999a85a4237ap-12, -0x1.88f2ae1def9d0p-20,
     0x1.16908b48ce058p-14, -0x1.4ce3fd902bcadp-15, 0x1.7db4c02846e81p-17, 0x1.13b3c5b7cb45ep-32,
     -0x1.c71c074985d3fp-20, 0x1.de37d9f09164cp-21, -0x1.ec676cf33153cp-23, 0x1.041515bab6adap-35,
     0x1.efe94304ac16bp-26, -0x1.e78e449f4e3bep-27, 0x1.d9a9f1a8b7696p-29, -0x1.033ba70791e5ep-42,
     -0x1.b14f212618752p-32, 0x1.9911dbca7ce93p-33, -0x1.7f2fac5e22aaep-35, 0x1.7088090f49aabp-50},
    {-0x1.6128ac5a4fa71p-12, -0x1.247604839c038p-14, 0x1.22be87360ef1fp-12, -0x1.a2042c5148e27p-13,
     0x1.1d1e9cb24760bp-14, 0x1.30bdcf208080ep-23, -0x1.c823fc1b3cc36p-17, 0x1.0d0e229150428p-17,
     -0x1.338eb19652fd9p-19, -0x1.659cfde0bb2ebp-32, 0x1.741504e5c87c2p-22, -0x1.8c267becd0c0fp-23,
     0x1.9e630225a095bp-25, -0x1.4411c5ac40e35p-46, -0x1.b15bbf334c8c3p-28, 0x1.b2a3adb58623dp-29,
     -0x1.af0f32d677057p-31, 0x1.762c060bd9bdap-48, 0x1.9b9c5831849dcp-34, -0x1.8d0152b8692bap-35},
    {0x1.168ef1b0931c8p-11, -0x1.36773bdb97b48p-11, 0x1.1c0950d3ecb9dp-12, 0x1.a8411da6cab49p-21,
     -0x1.5600945495b37p-14, 0x1.d6bdf83130dc1p-15, -0x1.3382f4cf48618p-16, -0x1.a74243fa27729p-29,
     0x1.d115d4f5dcc68p-19, -0x1.10587854fcb37p-19, 0x1.36c8903447d35p-21, 0x1.074e709bf4b8bp-42,
     -0x1.7b2f7de505322p-24, 0x1.9778c6d79bcc1p-25, -0x1.af0ea334cc20ep-27, 0x1.858ba968e7d04p-44,
     0x1.cf0f99fa070bcp-30, -0x1.d77155071f99bp-31, 0x1.daf3327a51b54p-33, -0x1.b6df73b581619p-51},
    {0x1.691879c01efb4p-12, 0x1.b1d75d3346711p-15, -0x1.5f3385098cebfp-12, 0x1.26eeb5ece1d9fp-12,
     -0x1.cc642787368cep-14, -0x1.119c70312e0a2p-23, 0x1.d179830b113abp-16, -0x1.3269164e3e304p-16,
     0x1.8467d794bd7f2p-18, 0x1.0f82da50cdaeep-31, -0x1.1c6acec59f442p-20, 0x1.4b12ad51452d5p-21,
     -0x1.7929779607d63p-23, -0x1.6d32eed259534p-40, 0x1.cf11fbdf49e99p-26, -0x1.f4e88c5d1cae1p-27,
     0x1.0b2830e4dfce1p-28, -0x1.65f59322ddf56p-55, -0x1.24e8da0f96246p-31, 0x1.2daf0a8add2abp-32},
    {-0x1.5629b3187b744p-11, 0x1.b8239c670e690p-11, -0x1.cb967b4446107p-12, -0x1.762676b30cfd6p-21,
     0x1.5d1157082916dp-13, -0x1.0c16fcea7ddb2p-13, 0x1.84637d3f583cdp-15, 0x1.3937992ec9b02p-28,
     -0x1.6384af9ac219dp-17, 0x1.c738f198ab550p-18, -0x1.1adec9530a7adp-19, -0x1.2ed3c124b7492p-36,
     0x1.952f970ac9b03p-22, -0x1.d599e3b2187a2p-23, 0x1.0b282393d4893p-24, 0x1.7c54ec550bd4bp-51,
     -0x1.4985ee872fc56p-27, 0x1.663fd6d84752ep-28, -0x1.80990f0dfb26ap-30, 0x1.36412c0552a81p-51},
    {-0x1.38dff1cc96982p-11, -0x1.2e31f9b7913eap-14, 0x1.63969bb825829p-11, -0x1.4f9f2582dd0a5p-11,
     0x1.22fb20c28e8a0p-12, 0x1.86c71c8cebf16p-23, -0x1.63a803aebc9b7p-14, 0x1.00120036172b0p-14,
     -0x1.618fcc48d37bcp-16, -0x1.e7018e8be3330p-31, 0x1.2fe63d892e1a9p-18, -0x1.7d8d3a891d8bap-19,
     0x1.d3850f27b27e8p-21, 0x1.03901807110d2p-38, -0x1.49865a9b6fd04p-23, 0x1.7ca3da4d350cep-24,
     -0x1.b0abf9d310d85p-26, -0x1.706d644652279p-47, 0x1.0bcbd16605be3p-28, -0x1.244bad2fffd4fp-29},
    {0x1.5d4ae684527bfp-10, -0x1.f5dbcaf756cdep-10, 0x1.22b37f1b46951p-10, 0x1.0a9ef61e90004p-20,
     -0x1.0aba998a532bfp-11, 0x1.c01c0b52c3345p-12, -0x1.618e482f9d229p-13, -0x1.1759e6f571329p-27,
     0x1.7bdf837b4e130p-15, -0x1.0650f761692a2p-15, 0x1.5ea3af60786b1p-17, 0x1.aa0a6ef89a12ap-35,
     -0x1.205588c7220b7p-19, 0x1.64d9971a80133p-20, -0x1.b0abf52fc4d58p-22, -0x1.8b97eb7553f43p-43,
     0x1.2d454a640f7f8p-24, -0x1.5b19dcac0a663p-25, 0x1.8a3e9b486f0dbp-27, 0x1.24830817ba66fp-58},
    {0x1.9e1dba8ec5904p-10, 0x1.54d241144693fp-13, -0x1.0e7245b5e0240p-9, 0x1.185be08721041p-9,
     -0x1.08fd64cc4d9d6p-10, -0x1.ac8f35a61360fp-22, 0x1.7bf3a7a227118p-12, -0x1.271c35d1a742ap-12,
     0x1.b648cb8b91d61p-14, 0x1.23870b487d429p-29, -0x1.b081c1069b36ap-16, 0x1.21f0d8e42b54dp-16,
     -0x1.7a962022d07b2p-18, -0x1.83e23f727e2fep-37, 0x1.2d456933154b0p-20, -0x1.70cb7c2ec0c52p-21,
     0x1.bb865efbb7c49p-23, 0x1.a4c4ee6f7598ap-45, -0x1.31e2f7c2057ddp-25, 0x1.5fafc6207f6cep-26},
    {-0x1.0ae56a5daa127p-8, 0x1.a3a699f4a401bp-8, -0x1.08d50006f5e0ep-8, -0x1.25187cdea1eeap-19,
     0x1.1cf4d14eb1812p-9, -0x1.0237b58c76530p-9, 0x1.b647f0b161ed3p-11, 0x1.4e11fb9ab4d6ep-26,
     -0x1.0e5103ef55b59p-12, 0x1.8eab17b1a5667p-13, -0x1.1bf09035d225dp-14, -0x1.3d8d849a65517p-33,
     0x1.079cba3747641p-16, -0x1.59bec2daecc92p-17, 0x1.bb865dacf43bap-19, 0x1.c166cf2213dbep-41,
     -0x1.581f5664ec1e3p-21, 0x1.a1a0baff44abep-22, -0x1.f3011553e9943p-24, -0x1.95f1e554e1faap-49},
};

#endif
