//! sRGB → CIE L*a*b*.
